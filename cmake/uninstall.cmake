# Removes the files that a manifest of `cmake --install` lists, and our folders that are empty then:
#   cmake -DMANIFEST=build/release/installed.txt -P uninstall.cmake
cmake_minimum_required(VERSION 3.22)
if(NOT EXISTS "${MANIFEST}")
  message(FATAL_ERROR "MANIFEST: '${MANIFEST}' is not usable; right would be the file \
installed.txt of a build folder whose installation is to be removed")
endif()
file(STRINGS "${MANIFEST}" files)
if(files MATCHES "/_CPack_Packages/")
  message(FATAL_ERROR "MANIFEST: '${MANIFEST}' lists the files of an archive that cpack made, and \
not those of an installation; right would be installed.txt of the build folder")
endif()
foreach(file ${files})
  file(REMOVE "${file}")
  get_filename_component(folder "${file}" DIRECTORY)
  # Up to the first folder that holds something else.
  while(IS_DIRECTORY "${folder}")
    file(GLOB rest LIST_DIRECTORIES true "${folder}/*" "${folder}/.*")
    if(rest)
      break()
    endif()
    file(REMOVE_RECURSE "${folder}")
    get_filename_component(folder "${folder}" DIRECTORY)
  endwhile()
endforeach()
list(LENGTH files count)
message(STATUS "latecomer: ${count} files removed")
