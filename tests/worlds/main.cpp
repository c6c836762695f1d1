// Plays worlds: latecomer_worlds FIRST LAST [RANKS [STEPS [started | one-machine]]], by the last
// word with persistent calls, or with hosts that differ by name alone. Prints the faults of each,
// and a shorter world that has the same. Exit code 1: there was a fault. --self-test: tests the
// checks.
#include <malloc.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "worlds/calls.hpp"
#include "worlds/world.hpp"

int main(int count, char** words) {
  using namespace latecomer::worlds;
  const bool tests_itself = count == 2 && std::string(words[1]) == "--self-test";
  if (count < 3 && !tests_itself) {
    std::cerr << "usage: latecomer_worlds FIRST LAST [RANKS [STEPS [KIND]]] | --self-test\n";
    return 2;
  }
  // Each rank has the library's table of functions: the loader would fill in that of each again.
  setenv("LD_BIND_NOW", "1", 1);
  // Addresses decide the order in hash tables of pointers: a seed must always give the same ones.
  if (personality(0xffffffff) != -1 && (personality(0xffffffff) & ADDR_NO_RANDOMIZE) == 0 &&
      personality(ADDR_NO_RANDOMIZE) != -1) {
    execv("/proc/self/exe", words);
  }
  mallopt(M_TRIM_THRESHOLD, 1 << 30);  // the next world needs the memory again
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  rlimit files{};  // each rank has some
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  if (tests_itself) return self_test() ? 0 : 1;
  const std::uint64_t first = std::strtoull(words[1], nullptr, 10);
  const std::uint64_t last = std::strtoull(words[2], nullptr, 10);
  const int ranks = count > 3 ? std::atoi(words[3]) : 16;
  const int steps = count > 4 ? std::atoi(words[4]) : 100;
  const std::string kind = count > 5 ? words[5] : "";
  if (!has_kind(kind) || last < first || ranks < 2 || steps < 1) {
    std::cerr << "seeds must not fall, there must be 2 ranks and 1 step; KIND: started, "
                 "one-machine or nothing\n";
    return 2;
  }
  std::uint64_t calls = 0;
  std::uint64_t messages = 0;
  std::uint64_t told = 0;
  std::uint64_t failed = 0;
  std::size_t held = 0;
  int wrong = 0;
  double seconds = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const World world = world_of_kind(draw(seed, ranks, steps), kind);
    const Outcome outcome = play(world);
    calls += outcome.calls;
    messages += outcome.messages;
    told += outcome.told;
    failed += outcome.failed;
    held = std::max(held, outcome.held);
    seconds += static_cast<double>(outcome.took) * 1e-9;
    if (outcome.faults.empty()) continue;
    ++wrong;
    std::cout << "seed " << seed << ":\n";
    for (const auto& fault : outcome.faults) std::cout << "  " << fault << '\n';
    if (!outcome.said.empty()) std::cout << outcome.said;
    std::cout << std::flush;
    if (std::getenv("WORLDS_LIST") != nullptr) {
      std::cout << listing(world);
      continue;
    }
    const World smaller = shrink(world, outcome);
    std::cout << listing(smaller);
    for (const auto& fault : play(smaller).faults) std::cout << "  " << fault << '\n';
    std::cout << std::flush;
  }
  std::cout << last - first + 1 << " worlds, " << calls << " calls, " << messages << " messages, "
            << told << " errors told, " << failed << " requests for memory refused, " << held
            << " B held at most, " << seconds << " s of the worlds' time; " << wrong
            << " worlds with faults\n";
  return wrong == 0 ? 0 : 1;
}
