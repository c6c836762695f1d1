# The nanobind module latecomer._core, written beside the Python sources so that a clone can be
# used without installing it; a package build installs it into the wheel instead.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
# It is a package of this Python, or of the system.
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
  OUTPUT_VARIABLE nanobind_folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
if(status EQUAL 0)
  set(nanobind_ROOT ${nanobind_folder})
endif()
find_package(nanobind CONFIG QUIET)
if(NOT nanobind_FOUND)
  message(FATAL_ERROR "Python '${Python_EXECUTABLE}' has no nanobind; right would be one where \
`pip install nanobind` was called, or -DLATECOMER_PYTHON=OFF")
endif()
nanobind_add_module(latecomer_python NB_STATIC python/bindings.cpp python/bind_forecast.cpp
  python/bind_origin.cpp python/bind_plan.cpp python/bind_rehearsal.cpp python/bind_trace.cpp)
if(TARGET nanobind-static AND nanobind_VERSION VERSION_GREATER_EQUAL 3)  # a header of 2.5 has no guard
  latecomer_compile_in_batches(nanobind-static)
endif()
set_target_properties(latecomer_python PROPERTIES OUTPUT_NAME _core)
set(python_folder ${PROJECT_SOURCE_DIR}/python/latecomer)
if(SKBUILD)
  set(python_folder ${PROJECT_BINARY_DIR}/python)
else()
  set(only_asked EXCLUDE_FROM_ALL)  # for a wheel of a finished build (packaging/wheel)
endif()
set_target_properties(latecomer_python PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${python_folder})
# Its types; a module without its package, since that needs what the build does not.
nanobind_add_stub(latecomer_stub MODULE _core OUTPUT ${python_folder}/_core.pyi PYTHON_PATH ${python_folder}
  DEPENDS latecomer_python)
install(TARGETS latecomer_python LIBRARY DESTINATION . COMPONENT module ${only_asked})
install(FILES ${python_folder}/_core.pyi DESTINATION . COMPONENT module ${only_asked})
target_link_libraries(latecomer_python PRIVATE latecomer_core)
