# Removes the files that a manifest of `cmake --install` lists, and folders below the prefix, which
# it names first, that are empty then:
#   cmake -DMANIFEST=build/release/installed.txt -P uninstall.cmake
cmake_minimum_required(VERSION 3.22)
if(NOT EXISTS "${MANIFEST}")
  message(FATAL_ERROR "MANIFEST: '${MANIFEST}' is not usable; right would be the file \
installed.txt of a build folder whose installation is to be removed")
endif()
file(STRINGS "${MANIFEST}" files ENCODING UTF-8)
if(files MATCHES "/_CPack_Packages/")
  message(FATAL_ERROR "MANIFEST: '${MANIFEST}' lists the files of an archive that cpack made, and \
not those of an installation; right would be installed.txt of the build folder")
endif()
list(POP_FRONT files prefix)
if(NOT prefix MATCHES "^prefix (.+)$")
  message(FATAL_ERROR "MANIFEST: '${MANIFEST}' names no prefix; right would be to install once more, \
to the same place")
endif()
set(prefix "${CMAKE_MATCH_1}")
set(count 0)
foreach(file ${files})
  if(EXISTS "${file}" OR IS_SYMLINK "${file}")
    file(REMOVE "${file}")
    math(EXPR count "${count} + 1")
  endif()
  get_filename_component(folder "${file}" DIRECTORY)
  # Up to the first folder that holds something else; the prefix may be one of others.
  string(FIND "${folder}" "${prefix}/" at)
  while(at EQUAL 0)
    execute_process(COMMAND rmdir "${folder}" RESULT_VARIABLE kept ERROR_QUIET)
    if(kept AND IS_DIRECTORY "${folder}")
      break()
    endif()
    get_filename_component(folder "${folder}" DIRECTORY)
    string(FIND "${folder}" "${prefix}/" at)
  endwhile()
endforeach()
message(STATUS "latecomer: ${count} files removed")
