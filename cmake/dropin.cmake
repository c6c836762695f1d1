# The drop-in libraries for LD_PRELOAD: liblatecomer_preload_<family>.so for each MPI family, and
# liblatecomer_preload.so, which loads the right one of them, as liblatecomer_preload_messages.so
# does, which traces messages, too. They need nothing but libc, libm and, those of the families,
# libgcc_s.
set(LATECOMER_DROPIN ${PROJECT_BINARY_DIR}/dropin)
set(dropin_table ${PROJECT_SOURCE_DIR}/src/dropin/functions.txt)
set(dropin_made ${LATECOMER_DROPIN}/wrappers.cpp ${LATECOMER_DROPIN}/exports.map
  ${LATECOMER_DROPIN}/stubs.inc ${LATECOMER_DROPIN}/stubs.map
  ${LATECOMER_DROPIN}/stubs_messages.inc ${LATECOMER_DROPIN}/stubs_messages.map
  ${LATECOMER_DROPIN}/argument_lists.h)
set(dropin_writer ${PROJECT_SOURCE_DIR}/tools/dropin_functions.py)
find_package(Python 3.9 REQUIRED COMPONENTS Interpreter)
add_custom_command(OUTPUT ${dropin_made}
  DEPENDS ${dropin_table} ${dropin_writer}
  COMMAND ${Python_EXECUTABLE} ${dropin_writer} ${dropin_table} ${LATECOMER_DROPIN}
  COMMENT "Writing the wrappers of MPI's functions" VERBATIM)
add_custom_target(latecomer_dropin_made DEPENDS ${dropin_made})

# Nothing unused, no symbols but those of the map, and no other copy of the C++ library than its own.
# What unwinds the stack is the program's, libgcc_s: exceptions of the program pass through ours.
function(latecomer_hide_all_but target map)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${map})
  target_link_options(${target} PRIVATE -static-libstdc++
    -Wl,--version-script=${map} -Wl,--exclude-libs,libstdc++.a:libgcc.a
    -Wl,--gc-sections)
endfunction()

# The loader, by its name; `stubs`: which functions it has. `DEFINITIONS` say so, too.
function(latecomer_add_loader target stubs)
  add_library(${target} SHARED ${PROJECT_SOURCE_DIR}/src/dropin/loader/loader.c
    ${PROJECT_SOURCE_DIR}/src/dropin/loader/mpi_library.c
    ${LATECOMER_DROPIN}/${stubs}.inc)
  add_dependencies(${target} latecomer_dropin_made)
  target_include_directories(${target} PRIVATE ${LATECOMER_DROPIN})
  target_compile_definitions(${target} PRIVATE ${ARGN})
  target_compile_options(${target} PRIVATE -std=gnu11 -O2 -fexceptions -fvisibility=hidden -Wall -Wextra)
  target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
  target_link_options(${target} PRIVATE -Wl,--version-script=${LATECOMER_DROPIN}/${stubs}.map)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C
    LINK_DEPENDS ${LATECOMER_DROPIN}/${stubs}.map)
endfunction()
latecomer_add_loader(latecomer_preload stubs)
latecomer_add_loader(latecomer_preload_messages stubs_messages LATECOMER_MESSAGES)

add_custom_target(dropin DEPENDS latecomer_preload latecomer_preload_messages)  # all of them

# Slurm's plug-in, which preloads the loader beside it. Slurm takes only one of its own version.
find_path(LATECOMER_SLURM_INCLUDE slurm/spank.h DOC "The folder of Slurm's headers")
if(LATECOMER_SLURM_INCLUDE)
  add_library(latecomer_slurm MODULE ${PROJECT_SOURCE_DIR}/src/slurm/plugin.c)
  target_include_directories(latecomer_slurm SYSTEM PRIVATE ${LATECOMER_SLURM_INCLUDE})
  target_link_libraries(latecomer_slurm PRIVATE latecomer_warnings ${CMAKE_DL_LIBS})
  set_target_properties(latecomer_slurm PROPERTIES PREFIX lib C_STANDARD 11)
endif()

file(GLOB dropin_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/dropin/*.cpp)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/dropin/wrapped.cpp
  ${LATECOMER_DROPIN}/wrappers.cpp PROPERTIES UNITY_GROUP calls)
foreach(each messages message_records completions unseen windows_and_files)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/dropin/${each}.cpp PROPERTIES
    UNITY_GROUP messages)
endforeach()
foreach(family ${LATECOMER_DROPIN_BUILT})
  set(target latecomer_preload_${family})
  add_library(${target} SHARED ${dropin_sources} ${LATECOMER_DROPIN}/wrappers.cpp)
  add_dependencies(${target} latecomer_dropin_made)
  add_dependencies(dropin ${target})
  target_link_libraries(${target} PRIVATE latecomer_mpi_${family})
  set_target_properties(${target} PROPERTIES LATECOMER_PRELOADED ON)  # linked with no MPI library
  # Wrappers and their bodies side by side: where ranks share cores, each page of code that a call
  # needs costs it more than all its instructions.
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  latecomer_hide_all_but(${target} ${LATECOMER_DROPIN}/exports.map)
  # Nothing in it calls these: Python reads the counters by them (python/latecomer/mpi/).
  target_link_options(${target} PRIVATE -Wl,-u,latecomer_get_key_stats -Wl,-u,latecomer_last_error)
endforeach()

# Programs for the tests, with no library but MPI.
if(LATECOMER_TESTS AND EXISTS ${PROJECT_SOURCE_DIR}/tests/dropin)
  find_package(Threads REQUIRED)
  file(GLOB dropin_cases CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/dropin/*.c)
  foreach(family ${LATECOMER_DROPIN_BUILT})
    add_executable(dropin_cases_${family} ${dropin_cases})
    target_link_libraries(dropin_cases_${family} PRIVATE latecomer_mpi_flags_${family}
      latecomer_warnings Threads::Threads ${CMAKE_DL_LIBS} m)
    # Open MPI's Fortran bindings pass C's functions by: they are called as Fortran would.
    if(LATECOMER_MPI_KIND_${family} STREQUAL openmpi)
      get_target_property(links latecomer_mpi_flags_${family} INTERFACE_LINK_LIBRARIES)
      string(REGEX MATCHALL "-L[^;>]+" folders "${links}")
      string(REPLACE "-L" "" folders "${folders}")
      find_library(mpifh_${family} mpi_mpifh PATHS ${folders} NO_CACHE)
      find_library(mpif08_${family} mpi_usempif08 PATHS ${folders} NO_CACHE)
      if(mpifh_${family} AND mpif08_${family})
        target_compile_definitions(dropin_cases_${family} PRIVATE WITH_FORTRAN)
        target_link_libraries(dropin_cases_${family} PRIVATE
          ${mpif08_${family}} ${mpifh_${family}})
      endif()
    endif()
  endforeach()
endif()
