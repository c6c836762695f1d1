# The profiler plug-in of NCCL, for NCCL_PROFILER_PLUGIN (docs/nccl.md). It needs neither NCCL nor
# CUDA, and has a C++ runtime of its own, as the program's may be older. NCCL loads it again after
# its last communicator: so it stays.
file(GLOB nccl_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/nccl/*.cpp)
add_library(latecomer_nccl SHARED ${nccl_sources})
target_link_libraries(latecomer_nccl PRIVATE latecomer_core latecomer_warnings)
target_compile_definitions(latecomer_nccl PRIVATE LATECOMER_VERSION="${PROJECT_VERSION}")
set(nccl_exports ${PROJECT_BINARY_DIR}/nccl_exports.map)
file(CONFIGURE OUTPUT ${nccl_exports} CONTENT "{ global: ncclProfiler_v*; local: *; };\n")
target_link_options(latecomer_nccl PRIVATE -static-libstdc++ -Wl,-z,nodelete
  -Wl,--version-script=${nccl_exports} -Wl,--gc-sections)
set_target_properties(latecomer_nccl PROPERTIES LINK_DEPENDS ${nccl_exports})

if(LATECOMER_TESTS)
  add_executable(nccl_host ${PROJECT_SOURCE_DIR}/tests/nccl/host.cpp)
  target_link_libraries(nccl_host PRIVATE latecomer_warnings ${CMAKE_DL_LIBS})
  set_target_properties(nccl_host PROPERTIES ENABLE_EXPORTS ON)  # of its clock, to the plug-in
endif()
