# Writes the prefix and the list of the files that were just installed into ${list}, unless they are
# those of an archive, in the staging folder of cpack.
if(NOT CMAKE_INSTALL_PREFIX MATCHES "/_CPack_Packages/")
  list(TRANSFORM CMAKE_INSTALL_MANIFEST_FILES PREPEND "$ENV{DESTDIR}" OUTPUT_VARIABLE files)
  list(JOIN files "\n" files)
  get_filename_component(prefix "${CMAKE_INSTALL_PREFIX}" ABSOLUTE)  # that of --prefix may be none
  file(WRITE "${list}" "prefix $ENV{DESTDIR}${prefix}\n${files}\n")
endif()
