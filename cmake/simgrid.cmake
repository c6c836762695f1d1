# The program latecomer_simgrid, where SimGrid's C++ library is installed (Debian: libsimgrid-dev).
find_path(SIMGRID_INCLUDE_DIR simgrid/s4u.hpp)
find_library(SIMGRID_LIBRARY simgrid)
mark_as_advanced(SIMGRID_INCLUDE_DIR SIMGRID_LIBRARY)
if(NOT SIMGRID_INCLUDE_DIR OR NOT SIMGRID_LIBRARY)
  message(STATUS "No SimGrid found: latecomer_simgrid is left out")
  return()
endif()
message(STATUS "SimGrid: ${SIMGRID_LIBRARY}")
file(GLOB simgrid_sources CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/evidence/simgrid/*.cpp)
add_executable(latecomer_simgrid ${simgrid_sources})
latecomer_compile_in_batches(latecomer_simgrid)
target_include_directories(latecomer_simgrid SYSTEM PRIVATE ${SIMGRID_INCLUDE_DIR})
target_link_libraries(latecomer_simgrid PRIVATE
  latecomer_core latecomer_warnings ${SIMGRID_LIBRARY})
