// Single mistakes in correct schedules: every way to change one operation of one rank.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schedule/program.hpp"

namespace latecomer::testing {

enum class Change {
  remove,
  swap_with_next,
  peer,
  slice,
  swap_operands,
  flip_into,
  swap_operands_and_flip_into,
  send_for_recv,  // and the other way round
  copy_for_combine,
  flag,
  count,
  use_for_data,  // and the other way round
  drop_dependency,
  duplicate,
};

/// The treatment of `after` where operations move.
enum class After {
  renumbered,  // each operation keeps its own dependencies
  in_place,    // each position keeps its dependencies
  derived,     // anew by the scoreboard, as if the builder had been told the wrong thing
};

struct Mutant {
  Change change;
  After after;
  OpIndex at;  // the operation changed, in the original
  Program program;
};

/// The change, in words.
std::string describe(const Program& original, const Mutant& mutant);

using Visit = std::function<void(const Mutant&)>;

/// All mutants of one rank's program.
void each_mutant(const Program& original, const Visit& visit);

/// Dependencies by the scoreboard, from the operations alone.
void derive_dependencies(Program& program);

}  // namespace latecomer::testing
