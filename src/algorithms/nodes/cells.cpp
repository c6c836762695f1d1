#include "algorithms/nodes/cells.hpp"

namespace latecomer {
namespace {

constexpr std::string_view kCells = "cells";

}  // namespace

bool has_cells(const Plan& plan) {
  if (!plan.problem.commutative) return true;
  const auto found = plan.parameters.find(kCells);
  return found != plan.parameters.end() && found->second > 0;
}

Parameter cells_parameter() {
  return {kCells,
          "1: each rank has a part of the node's buffer, and vectors are combined in the order of "
          "ranks; 0: ranks add to one vector as they come; default: 0, and always 1 for operators "
          "that do not commute",
          0,
          {}};
}

void fill_cells(Plan& plan) {
  Count& cells = plan.parameters.try_emplace(std::string(kCells), 0).first->second;
  cells = plan.problem.commutative ? std::min<Count>(cells, 1) : 1;
}

}  // namespace latecomer
