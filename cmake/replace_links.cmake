# Part of an installation into a wheel, which holds no symbolic links: they become scripts of the
# linker.
file(GLOB links "${CMAKE_INSTALL_PREFIX}/lib/*.so")
foreach(link ${links})
  if(IS_SYMLINK "${link}")
    file(READ_SYMLINK "${link}" library)
    file(REMOVE "${link}")
    file(WRITE "${link}" "INPUT(-l:${library})\n")
  endif()
endforeach()
