# The libraries as users get them, and their installation (docs/install.md). The layout below the
# prefix is the same for `cmake --install`, the binary archive and the Python package.
#
# Each library is whole: liblatecomer_core has the functions of latecomer.h, liblatecomer_<family>
# has those and the ones of latecomer_mpi.h. A program links one of them.
if(NOT DEFINED CMAKE_INSTALL_LIBDIR)  # everywhere the same, whatever the system's custom
  set(CMAKE_INSTALL_LIBDIR lib CACHE PATH "Folder of libraries, below the prefix")
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Packages, modules and the command find what they need below the prefix, wherever that is moved.
foreach(folder LIBDIR INCLUDEDIR LIBEXECDIR DATAROOTDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${folder}}")
    message(FATAL_ERROR "CMAKE_INSTALL_${folder}: '${CMAKE_INSTALL_${folder}}' is not usable; right \
would be a folder below the prefix, without the prefix")
  endif()
endforeach()

set(LATECOMER_MAN_DIR ${CMAKE_INSTALL_MANDIR})
if(SKBUILD)  # everything else lies in the Python package's folder
  set(CMAKE_INSTALL_LIBDIR lib)
  set(LATECOMER_MAN_DIR ${SKBUILD_DATA_DIR}/share/man)
endif()
set(LATECOMER_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/latecomer)
set(LATECOMER_PKGCONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(LATECOMER_PROGRAM_DIR ${CMAKE_INSTALL_LIBEXECDIR}/latecomer)
set(LATECOMER_BUILT_LIBRARIES ${PROJECT_BINARY_DIR}/lib)

# Before 1.0 each minor version may change the C API, from then on each major one. Files have the name that programs load, and one
# link to it: the Python package, which holds no links, can have the same files.
set(LATECOMER_SOVERSION ${PROJECT_VERSION_MAJOR})
set(LATECOMER_COMPATIBILITY SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  string(APPEND LATECOMER_SOVERSION .${PROJECT_VERSION_MINOR})
  set(LATECOMER_COMPATIBILITY SameMinorVersion)
endif()
set(LATECOMER_EXPORTS ${PROJECT_BINARY_DIR}/exports.map)
file(CONFIGURE OUTPUT ${LATECOMER_EXPORTS} @ONLY
  CONTENT "LATECOMER_@LATECOMER_SOVERSION@ {\n  global: latecomer_*; MPI_Finalize;\n  local: *;\n};\n")

# What a program that links a static library needs beside it.
set(LATECOMER_STATIC_NEEDS stdc++ m ${CMAKE_DL_LIBS} pthread)

# Installs a shared library that programs load: what it needs of ours lies beside it, in the folder
# of the build, too. There CMake would else keep room for the path by empty ones, each of which makes
# the loader look into the current folder.
function(latecomer_install_shared target)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
  install(TARGETS ${target} ${ARGN} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

function(latecomer_describe_library target name)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME latecomer_${name}
    LINKER_LANGUAGE CXX
    ARCHIVE_OUTPUT_DIRECTORY ${LATECOMER_BUILT_LIBRARIES}
    LIBRARY_OUTPUT_DIRECTORY ${LATECOMER_BUILT_LIBRARIES})
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  # CMake refuses a program that links two of our libraries: each has a state of its own.
  get_target_property(exported ${target} EXPORT_NAME)
  set_target_properties(${target} PROPERTIES
    COMPATIBLE_INTERFACE_STRING LATECOMER_LIBRARY INTERFACE_LATECOMER_LIBRARY ${exported})
  if(NOT name STREQUAL core)  # for projects that call find_package(MPI) and not mpicc
    target_link_libraries(${target} INTERFACE $<TARGET_NAME_IF_EXISTS:MPI::MPI_C>)
  endif()
endfunction()

# Makes and installs liblatecomer_<name>.so and .a of the given objects; the shared one links
# LINKS with OPTIONS.
function(latecomer_add_libraries name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "OBJECTS;LINKS;OPTIONS")
  set(shared latecomer_shared_${name})
  add_library(${shared} SHARED ${arg_OBJECTS})
  add_library(latecomer::${name} ALIAS ${shared})
  set_target_properties(${shared} PROPERTIES EXPORT_NAME ${name}
    VERSION ${LATECOMER_SOVERSION} SOVERSION ${LATECOMER_SOVERSION} LINK_DEPENDS ${LATECOMER_EXPORTS})
  target_link_libraries(${shared} PRIVATE latecomer_options ${arg_LINKS})
  target_link_options(${shared} PRIVATE ${arg_OPTIONS} -Wl,--version-script=${LATECOMER_EXPORTS})
  latecomer_describe_library(${shared} ${name})
  latecomer_install_shared(${shared} EXPORT latecomer)

  set(static latecomer_static_${name})
  add_library(${static} STATIC ${arg_OBJECTS})
  add_library(latecomer::${name}_static ALIAS ${static})
  set_target_properties(${static} PROPERTIES EXPORT_NAME ${name}_static)
  target_link_libraries(${static} INTERFACE ${LATECOMER_STATIC_NEEDS})
  latecomer_describe_library(${static} ${name})
  install(TARGETS ${static} EXPORT latecomer ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

  # pkg-config's files name no folder but relative to themselves.
  file(RELATIVE_PATH up /${LATECOMER_PKGCONFIG_DIR} /)
  string(REGEX REPLACE "/$" "" up "${up}")
  set(what "without MPI")
  if(NOT name STREQUAL core)
    set(what "for MPI programs, family ${name}; compile and link with its mpicc")
  endif()
  list(TRANSFORM LATECOMER_STATIC_NEEDS PREPEND -l OUTPUT_VARIABLE needs)
  list(JOIN needs " " needs)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/latecomer.pc.in
    ${PROJECT_BINARY_DIR}/latecomer-${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/latecomer-${name}.pc DESTINATION ${LATECOMER_PKGCONFIG_DIR})
endfunction()

# No other C++ runtime than its own. Those of the families use the program's: exceptions of the
# program's operators pass through them, which two runtimes count apart.
latecomer_add_libraries(core OBJECTS $<TARGET_OBJECTS:latecomer_core>
  OPTIONS -static-libstdc++ -static-libgcc)
foreach(family ${LATECOMER_MPI_BUILT})
  latecomer_add_libraries(${family} LINKS latecomer_mpi_flags_${family} ${CMAKE_DL_LIBS}
    OBJECTS $<TARGET_OBJECTS:latecomer_core> $<TARGET_OBJECTS:latecomer_mpi_${family}>)
  foreach(program latecomer_bench_${family} latecomer_calibrate_${family})
    if(TARGET ${program})
      install(TARGETS ${program} RUNTIME DESTINATION ${LATECOMER_PROGRAM_DIR})
    endif()
  endforeach()
endforeach()
list(TRANSFORM LATECOMER_DROPIN_BUILT PREPEND latecomer_preload_ OUTPUT_VARIABLE preloads)
foreach(library latecomer_preload latecomer_preload_messages ${preloads})
  if(TARGET ${library})
    latecomer_install_shared(${library})
  endif()
endforeach()
latecomer_install_shared(latecomer_nccl)
if(TARGET latecomer_simgrid)
  install(TARGETS latecomer_simgrid RUNTIME DESTINATION ${LATECOMER_PROGRAM_DIR})
endif()

# For sites: the module file, and what launchers start or read by it. All of them find the libraries by
# their own place.
if(TARGET latecomer_preload)
  file(RELATIVE_PATH up /${LATECOMER_PROGRAM_DIR} /${CMAKE_INSTALL_LIBDIR})
  foreach(file latecomer preload)
    configure_file(packaging/module/${file}.in ${PROJECT_BINARY_DIR}/module/${file} @ONLY)
  endforeach()
  install(FILES ${PROJECT_BINARY_DIR}/module/latecomer RENAME ${PROJECT_VERSION}
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/modulefiles/latecomer)
  install(FILES packaging/module/hydra.conf DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/latecomer)
  install(PROGRAMS ${PROJECT_BINARY_DIR}/module/preload DESTINATION ${LATECOMER_PROGRAM_DIR})
endif()
if(TARGET latecomer_slurm)
  latecomer_install_shared(latecomer_slurm)
endif()

set(headers include/latecomer/latecomer.h)
if(LATECOMER_MPI_BUILT)
  list(APPEND headers include/latecomer/latecomer_mpi.h)
endif()
install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/latecomer)
install(FILES LICENSE NOTICE README.md CHANGELOG.md CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
  FILES_MATCHING PATTERN *.md PATTERN assets EXCLUDE PATTERN pictures EXCLUDE)
install(FILES docs/latecomer.7 DESTINATION ${LATECOMER_MAN_DIR}/man7)
if(LATECOMER_PYTHON)  # latecomer-run(1) and so on, of what also makes --help
  set(pages ${PROJECT_BINARY_DIR}/man1)
  file(GLOB declared CONFIGURE_DEPENDS python/latecomer/command/*.py python/latecomer/verbs/*.py)
  add_custom_command(OUTPUT ${pages}/latecomer-run.1
    DEPENDS ${declared} python/latecomer/cli.py tools/man_pages.py
    COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_SOURCE_DIR}/python
      PYTHONDONTWRITEBYTECODE=1 ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/man_pages.py
      ${pages} ${PROJECT_VERSION}
    COMMENT "Writing manual pages" VERBATIM)
  add_custom_target(latecomer_man ALL DEPENDS ${pages}/latecomer-run.1)
  install(DIRECTORY ${pages}/ DESTINATION ${LATECOMER_MAN_DIR}/man1)
endif()

# find_package(latecomer)
set(kinds "")
foreach(family ${LATECOMER_MPI_BUILT})
  string(APPEND kinds "set(latecomer_KIND_${family} \"${LATECOMER_MPI_KIND_${family}}\")\n")
endforeach()
configure_package_config_file(cmake/latecomer-config.cmake.in
  ${PROJECT_BINARY_DIR}/latecomer-config.cmake INSTALL_DESTINATION ${LATECOMER_CMAKE_DIR}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/latecomer-config-version.cmake
  COMPATIBILITY ${LATECOMER_COMPATIBILITY})
install(EXPORT latecomer NAMESPACE latecomer:: FILE latecomer-targets.cmake
  DESTINATION ${LATECOMER_CMAKE_DIR})
install(FILES ${PROJECT_BINARY_DIR}/latecomer-config.cmake
  ${PROJECT_BINARY_DIR}/latecomer-config-version.cmake cmake/mpi_kind.cmake
  DESTINATION ${LATECOMER_CMAKE_DIR})

if(SKBUILD)  # last: wheels hold no symbolic links
  install(SCRIPT cmake/replace_links.cmake)
endif()

# What was installed, in a list of our own: cpack writes the list of CMake, of its staging folder.
set(LATECOMER_INSTALLED ${PROJECT_BINARY_DIR}/installed.txt)
install(CODE "set(list \"${LATECOMER_INSTALLED}\")")
install(SCRIPT cmake/list_installed.cmake)
add_custom_target(uninstall
  COMMAND ${CMAKE_COMMAND} -DMANIFEST=${LATECOMER_INSTALLED}
    -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake
  COMMENT "Removing what was installed last" VERBATIM)

# The binary archive: cpack --config build/release/CPackConfig.cmake
set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_NAME latecomer)
string(TOLOWER "${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" system)
set(CPACK_PACKAGE_FILE_NAME latecomer-${PROJECT_VERSION}-${system})
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
