# The nanobind module latecomer._core, written beside the Python sources so that a clone can be
# used without installing it; a package build installs it into the wheel instead.
find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "Python '${Python_EXECUTABLE}' has no nanobind; right would be one where \
`pip install nanobind` was called, or -DLATECOMER_PYTHON=OFF")
endif()
find_package(nanobind CONFIG REQUIRED)
nanobind_add_module(latecomer_python NB_STATIC python/bindings.cpp python/bind_forecast.cpp
  python/bind_origin.cpp python/bind_trace.cpp)
if(TARGET nanobind-static)
  latecomer_compile_in_batches(nanobind-static)
endif()
set_target_properties(latecomer_python PROPERTIES OUTPUT_NAME _core)
if(SKBUILD)
  install(TARGETS latecomer_python LIBRARY DESTINATION . COMPONENT module)
else()
  set_target_properties(latecomer_python PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_SOURCE_DIR}/python/latecomer)
  # For a wheel of a finished build (packaging/wheel).
  install(TARGETS latecomer_python LIBRARY DESTINATION . COMPONENT module EXCLUDE_FROM_ALL)
endif()
target_link_libraries(latecomer_python PRIVATE latecomer_core)
