// A world: a program of collective calls on simulated ranks, drawn from a seed, with faults. It is
// played by the library as it ships, and checked after every call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "worlds/mpi_state.hpp"

namespace latecomer::worlds {

enum class Kind { allreduce, reduce, bcast, allgather, gather, scatter, split, free_comm };

/// What all ranks do next; those that are no member of the communicator leave it out.
struct Step {
  Kind kind;
  int comm;       // which one, in the order of their making; 0: MPI_COMM_WORLD
  int count = 0;  // elements; of a split: the number of parts
  int type =
      0;  // 0: int, exact; 1: double, rounded; 2: pairs, by an operator that does not commute
  int root = 0;               // modulo the communicator's size
  std::vector<Time> compute;  // of each rank, before the call
};

struct World {
  std::uint64_t seed = 0;
  int ranks = 2;
  int per_host = 1;
  Net net;
  std::string algorithm = "auto";
  bool online = true;
  std::vector<std::string> environment;
  int other_settings = -1;     // the rank that has further ones
  std::vector<double> drifts;  // of clocks, for each rank
  std::vector<Step> steps;
  int dies = -1;        // a rank
  int dies_before = 0;  // the step that it does not begin
  std::string broken;   // a fault of rank 0 that a check must find (self_test.cpp)
};

struct Outcome {
  std::vector<std::string> faults;  // none: all was right
  std::uint64_t calls = 0;          // of all ranks
  std::uint64_t messages = 0;
  Time took = 0;     // of the world's time
  std::string said;  // on standard error, by all ranks
};

/// A world of at most `most_ranks` ranks and so many steps.
World draw(std::uint64_t seed, int most_ranks, int steps);
Outcome play(const World& world);
/// Plays worlds with one known fault each, and prints those that no check finds. true: none.
bool self_test();
/// A smaller world with a fault of the same first words, by leaving out what it can do without.
World shrink(const World& world, const Outcome& outcome);
/// One line for each thing that a reader needs to play it in the head.
std::string listing(const World& world);

}  // namespace latecomer::worlds
