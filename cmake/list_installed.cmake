# Writes the prefix and the list of the files that were just installed into ${list}, unless they are
# those of an archive, in the staging folder of cpack.
if(NOT CMAKE_INSTALL_PREFIX MATCHES "/_CPack_Packages/")
  list(JOIN CMAKE_INSTALL_MANIFEST_FILES "\n" files)
  file(WRITE "${list}" "prefix ${CMAKE_INSTALL_PREFIX}\n${files}\n")
endif()
