// The registry's rows as the parameters of tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "algorithms/registry.hpp"

namespace latecomer::testing {

/// All rows but the MPI library's own.
inline std::vector<const Algorithm*> planned_rows() {
  std::vector<const Algorithm*> rows;
  for (const Algorithm& row : registry()) {
    if (row.kind != Kind::native) rows.push_back(&row);
  }
  return rows;
}

/// The row's name in the names of tests.
inline std::string name_of_row(const ::testing::TestParamInfo<const Algorithm*>& test) {
  return std::string(to_string(test.param->collective)) + '_' + std::string(test.param->name);
}

}  // namespace latecomer::testing
