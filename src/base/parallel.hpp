// Work that threads share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace latecomer {

inline constexpr std::size_t kMostThreads = 8;

/// Calls `work(begin, end)` for parts of 0 to `count`, each by a thread of its own, and returns
/// when all have ended. A part has `least` or more, so little work is done by this thread alone.
/// Rethrows what one of them throws.
template <class Work>
void in_parallel(std::size_t count, std::size_t least, Work&& work) {
  const std::size_t cores = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1,  //
                                                    kMostThreads);
  const std::size_t parts = std::clamp<std::size_t>(count / std::max<std::size_t>(least, 1), 1,  //
                                                    cores);
  std::vector<std::exception_ptr> thrown(parts);
  const auto part = [&](std::size_t which) {
    try {
      work(count * which / parts, count * (which + 1) / parts);
    } catch (...) {
      thrown[which] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t which = 1; which < parts; ++which) threads.emplace_back(part, which);
    part(0);
  }
  for (const std::exception_ptr& each : thrown) {
    if (each) std::rethrow_exception(each);
  }
}

}  // namespace latecomer
