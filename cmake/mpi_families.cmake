# Everything that needs MPI, built once for each MPI family in the same tree: the library
# latecomer_mpi_<family>, the programs latecomer_bench_<family>, latecomer_calibrate_<family> and
# latecomer_overhead_<family>, the example latecomer_raytracer_<family>, and the tests
# mpi_tests_<family>. Of the family `abi`, MPI 5's standard ABI, which several MPI libraries offer
# beside their own, only the library is built, for the drop-in library.
#
# A family is a name and its compiler wrapper. The wrapper is only asked for its flags.
#   -DLATECOMER_MPI_FAMILIES="openmpi=mpicc.openmpi;mpich=/opt/mpich/bin/mpicc"
set(LATECOMER_MPI_FAMILIES "" CACHE STRING
  "MPI families as name=wrapper, separated by semicolons; empty: Open MPI, MPICH and MPI 5's ABI where found")

include(${CMAKE_CURRENT_LIST_DIR}/mpi_kind.cmake)

# The wrapper's whole compile and link line, or nothing.
function(latecomer_mpi_line wrapper result)
  foreach(option -show --showme)
    execute_process(COMMAND ${wrapper} ${option} OUTPUT_VARIABLE line ERROR_QUIET
      RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(status EQUAL 0 AND line MATCHES "-l")
      set(${result} "${line}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${result} "" PARENT_SCOPE)
endfunction()

# Splits a wrapper's line into include folders and the linker's words.
function(latecomer_mpi_flags line includes links)
  separate_arguments(words UNIX_COMMAND "${line}")
  set(found_includes "")
  set(found_links "")
  foreach(word ${words})
    if(word MATCHES "^-I(.+)")
      list(APPEND found_includes ${CMAKE_MATCH_1})
    elseif(word MATCHES "^(-L|-l|-Wl,|-pthread)" OR word MATCHES "\\.(a|so)$")
      list(APPEND found_links ${word})
    endif()
  endforeach()
  set(${includes} "${found_includes}" PARENT_SCOPE)
  set(${links} "${found_links}" PARENT_SCOPE)
endfunction()

# The kind of MPI (mpi_kind.cmake) that a wrapper's line compiles for, or abi.
function(latecomer_mpi_kind_of_line line includes result)
  latecomer_mpi_kind("${includes}" kind)
  if(kind AND line MATCHES "-DMPI_ABI( |$)")
    set(kind abi)
  endif()
  set(${result} "${kind}" PARENT_SCOPE)
endfunction()

function(latecomer_mpi_works includes links kind result)
  include(CheckCSourceCompiles)
  if(kind STREQUAL abi)
    set(CMAKE_REQUIRED_DEFINITIONS -DMPI_ABI)
  endif()
  set(CMAKE_REQUIRED_INCLUDES ${includes})
  set(CMAKE_REQUIRED_LIBRARIES ${links})
  set(CMAKE_REQUIRED_QUIET ON)
  unset(latecomer_hello CACHE)
  check_c_source_compiles(
    "#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); return MPI_Finalize(); }"
    latecomer_hello)
  set(${result} "${latecomer_hello}" PARENT_SCOPE)
  unset(latecomer_hello CACHE)
endfunction()

# The families to use when none were given: the first wrapper of each kind of MPI.
function(latecomer_default_mpi_families result)
  set(found "")
  set(kinds "")
  foreach(name mpicc.openmpi ${PROJECT_SOURCE_DIR}/.venv/bin/mpicc $ENV{VIRTUAL_ENV}/bin/mpicc
          mpicc.mpich mpicc ${PROJECT_SOURCE_DIR}/.venv/bin/mpicc_abi
          $ENV{VIRTUAL_ENV}/bin/mpicc_abi mpicc_abi)
    unset(wrapper)
    find_program(wrapper ${name} NO_CACHE)
    if(wrapper)
      latecomer_mpi_line(${wrapper} line)
      latecomer_mpi_flags("${line}" includes links)
      latecomer_mpi_kind_of_line("${line}" "${includes}" kind)
      if(kind AND NOT kind IN_LIST kinds)
        list(APPEND kinds ${kind})
        list(APPEND found ${kind}=${wrapper})
      endif()
    endif()
  endforeach()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# Files of bench/ that its other programs use too.
set(LATECOMER_BENCH_SHARED clock.cpp json.cpp reading.cpp surroundings.cpp)

function(latecomer_add_mpi_library family kind includes links)
  add_library(latecomer_mpi_flags_${family} INTERFACE)
  target_include_directories(latecomer_mpi_flags_${family} SYSTEM INTERFACE ${includes})
  # Programs find their MPI where the wrapper says. Libraries use the one that the program has.
  set(paths ${links})
  list(FILTER paths INCLUDE REGEX "^-Wl,(-rpath|/)")
  list(FILTER links EXCLUDE REGEX "^-Wl,(-rpath|/)")
  list(TRANSFORM paths REPLACE "(.+)" "$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:\\1>")
  # What is preloaded has that of the program's, whatever its name: see src/dropin/loader/loader.c.
  list(TRANSFORM links REPLACE "(.+)"
    "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:LATECOMER_PRELOADED>>>:\\1>")
  target_link_libraries(latecomer_mpi_flags_${family} INTERFACE ${paths} ${links})
  target_compile_definitions(latecomer_mpi_flags_${family} INTERFACE
    OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1 $<$<STREQUAL:${kind},abi>:MPI_ABI>)

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/src/transports/mpi/*.cpp ${PROJECT_SOURCE_DIR}/src/runtime/*.cpp
    ${PROJECT_SOURCE_DIR}/src/capi/mpi/*.cpp)
  add_library(latecomer_mpi_${family} STATIC ${sources})
  latecomer_compile_in_batches(latecomer_mpi_${family})
  target_link_libraries(latecomer_mpi_${family}
    PUBLIC latecomer_core latecomer_mpi_flags_${family} ${CMAKE_DL_LIBS} PRIVATE latecomer_warnings)
  target_precompile_headers(latecomer_mpi_${family} PRIVATE ${LATECOMER_COMMON_HEADERS})
endfunction()

function(latecomer_add_mpi_programs family)
  if(SKBUILD)
    set(not_installed EXCLUDE_FROM_ALL)
  endif()
  file(GLOB bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.cpp)
  if(bench_sources)
    add_executable(latecomer_bench_${family} ${bench_sources})
    latecomer_compile_in_batches(latecomer_bench_${family})
    target_link_libraries(latecomer_bench_${family}
      PRIVATE latecomer_mpi_${family} latecomer_warnings)
  endif()

  file(GLOB calibrate_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/calibrate/*.cpp)
  if(calibrate_sources)
    list(TRANSFORM LATECOMER_BENCH_SHARED PREPEND ${PROJECT_SOURCE_DIR}/bench/ OUTPUT_VARIABLE shared)
    add_executable(latecomer_calibrate_${family} ${calibrate_sources} ${shared})
    latecomer_compile_in_batches(latecomer_calibrate_${family})
    target_link_libraries(latecomer_calibrate_${family}
      PRIVATE latecomer_mpi_${family} latecomer_warnings)
  endif()

  if(EXISTS ${PROJECT_SOURCE_DIR}/bench/overhead)
    add_executable(latecomer_overhead_${family} ${not_installed}
      ${PROJECT_SOURCE_DIR}/bench/overhead/main.cpp ${PROJECT_SOURCE_DIR}/bench/reading.cpp)
    target_link_libraries(latecomer_overhead_${family}
      PRIVATE latecomer_mpi_${family} latecomer_warnings)
  endif()

  file(GLOB raytracer_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/raytracer/*.cpp)
  if(raytracer_sources)
    add_executable(latecomer_raytracer_${family} ${not_installed} ${raytracer_sources})
    latecomer_compile_in_batches(latecomer_raytracer_${family})
    target_link_libraries(latecomer_raytracer_${family}
      PRIVATE latecomer_mpi_${family} latecomer_warnings)
  endif()
endfunction()

set(LATECOMER_MPI_BUILT "")     # families with everything
set(LATECOMER_DROPIN_BUILT "")  # families with a drop-in library
if(LATECOMER_MPI_FAMILIES)
  set(wanted_families ${LATECOMER_MPI_FAMILIES})
else()
  latecomer_default_mpi_families(wanted_families)
endif()
foreach(entry ${wanted_families})
  if(NOT entry MATCHES "^([A-Za-z0-9_]+)=(.+)$")
    message(FATAL_ERROR "LATECOMER_MPI_FAMILIES: '${entry}' is not usable; right would be name=wrapper")
  endif()
  set(family ${CMAKE_MATCH_1})
  set(wrapper ${CMAKE_MATCH_2})
  latecomer_mpi_line(${wrapper} line)
  latecomer_mpi_flags("${line}" includes links)
  latecomer_mpi_kind_of_line("${line}" "${includes}" kind)
  latecomer_mpi_works("${includes}" "${links}" "${kind}" works)
  if(NOT works)
    message(WARNING "MPI family ${family} is left out: a program built with the flags of ${wrapper} does not link ('${line}')")
    continue()
  endif()
  message(STATUS "MPI family ${family}: ${wrapper}")
  latecomer_add_mpi_library(${family} "${kind}" "${includes}" "${links}")
  set(LATECOMER_MPI_KIND_${family} ${kind})
  set(LATECOMER_MPI_WRAPPER_${family} ${wrapper})
  list(APPEND LATECOMER_DROPIN_BUILT ${family})
  if(NOT kind STREQUAL abi)
    latecomer_add_mpi_programs(${family})
    list(APPEND LATECOMER_MPI_BUILT ${family})
  endif()
endforeach()
if(NOT LATECOMER_MPI_BUILT)
  message(STATUS "No MPI found: the MPI parts are left out")
endif()
if(LATECOMER_TESTS AND EXISTS ${PROJECT_SOURCE_DIR}/tests/mpi/CMakeLists.txt)
  include(${PROJECT_SOURCE_DIR}/tests/mpi/CMakeLists.txt)
  include(${PROJECT_SOURCE_DIR}/tests/worlds/CMakeLists.txt)
endif()
