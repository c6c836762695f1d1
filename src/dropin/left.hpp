// Counts the calls that were left to the MPI library at once, because they are short.
#pragma once

#include <cstdint>

#include "base/types.hpp"
#include "schedule/problem.hpp"

namespace latecomer {

struct LeftCalls {
  std::uint64_t calls = 0;
  Seconds inside = 0;
};

void count_left(Collective collective, Seconds inside);
[[nodiscard]] LeftCalls left_calls(Collective collective);

}  // namespace latecomer
