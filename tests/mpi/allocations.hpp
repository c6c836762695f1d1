// Counts the calls and bytes of operator new, which the test program replaces.
#pragma once

#include <cstddef>

namespace latecomer::testing {

/// The number of calls by this thread.
[[nodiscard]] std::size_t allocations();
/// The bytes in use of all threads. MPI libraries, which are written in C, use none.
[[nodiscard]] std::size_t bytes_in_use();

/// The next request of this thread for so many bytes or more fails.
void fail_request(std::size_t least);
/// `then` is called before this thread frees a block of so many bytes or more; null: no longer.
void watch_frees(std::size_t least, void (*then)());

/// The fewest allocations of some rounds: code that must not allocate may still grow its memory in
/// a few of them, where messages arrive in another order than before.
template <class Round>
std::size_t fewest_allocations(int rounds, Round&& round) {
  std::size_t fewest = static_cast<std::size_t>(-1);
  for (int i = 0; i < rounds; ++i) {
    const std::size_t before = allocations();
    round();
    const std::size_t made = allocations() - before;
    if (made < fewest) fewest = made;
  }
  return fewest;
}

}  // namespace latecomer::testing
