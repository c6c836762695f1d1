// Counts the calls that were left to the MPI library at once, because they are short.
#pragma once

#include <atomic>
#include <cstdint>

namespace latecomer {

inline std::atomic<std::uint64_t> left_calls{0};

}  // namespace latecomer
