# Part of an installation into a wheel, which holds no symbolic links. The library gets the name that
# programs load it by; the name to link it by becomes a script of the linker.
file(GLOB links "${CMAKE_INSTALL_PREFIX}/lib/*.so")
foreach(link ${links})
  if(IS_SYMLINK "${link}")
    file(READ_SYMLINK "${link}" loaded)
    file(REAL_PATH "${link}" library)
    file(REMOVE "${link}" "${CMAKE_INSTALL_PREFIX}/lib/${loaded}")
    file(RENAME "${library}" "${CMAKE_INSTALL_PREFIX}/lib/${loaded}")
    file(WRITE "${link}" "INPUT(-l:${loaded})\n")
  endif()
endforeach()
