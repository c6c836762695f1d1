# Writes the list of all algorithms: cmake -DFOLDER=src -DOUTPUT=rows.cpp -P rows.cmake
# Every line `LATECOMER_ROW(collective, name) {` of a .cpp file below FOLDER becomes an entry.
cmake_minimum_required(VERSION 3.22)
set(declarations "")
set(entries "")
set(found "")
file(GLOB_RECURSE files ${FOLDER}/*.cpp)
list(SORT files)
foreach(file ${files})
  file(STRINGS ${file} lines REGEX "LATECOMER_ROW *\\(")
  foreach(line ${lines})
    if(NOT line MATCHES "^LATECOMER_ROW\\(([a-z0-9_]+), ([a-z0-9_]+)\\) {")
      message(FATAL_ERROR
        "${file}: '${line}' is not usable; right would be LATECOMER_ROW(collective, name) {")
    endif()
    set(collective ${CMAKE_MATCH_1})
    set(name ${CMAKE_MATCH_2})
    if("${collective} ${name}" IN_LIST found)
      message(FATAL_ERROR
        "${file}: '${name}' of ${collective} is declared twice; right would be another name")
    endif()
    list(APPEND found "${collective} ${name}")
    string(APPEND declarations
      "namespace ${collective} {\nAlgorithm row_${name}();\n}  // namespace ${collective}\n")
    string(APPEND entries "    {\"${collective}\", \"${name}\", ${collective}::row_${name}},\n")
  endforeach()
endforeach()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
// Made by cmake/rows.cmake from what the algorithms declare.
#include "algorithms/row.hpp"

namespace latecomer {

@declarations@
std::span<const DeclaredRow> declared_rows() {
  static constexpr DeclaredRow kRows[] = {
@entries@  };
  return kRows;
}

}  // namespace latecomer
]])
