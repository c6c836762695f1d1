// A world: a program of collective calls on simulated ranks, drawn from a seed, with faults. It is
// played by the library as it ships, and checked after every call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "worlds/mpi_state.hpp"

namespace latecomer::worlds {

/// `wait`: for all requests of the communicator.
enum class Kind { allreduce, reduce, bcast, allgather, gather, scatter, split, free_comm, wait };

/// The fault in the arguments of one rank. MPI refuses the first four at once; with the
/// others the rank takes part in the call, but for the last.
enum class Wrong { none, negative, root, buffer, null_op, count, type, op, other_root, freed };
inline bool is_refused(Wrong wrong) { return wrong != Wrong::none && wrong <= Wrong::null_op; }

/// How a rank spells its calls: MPI_Bcast, PMPI_Bcast or MPI_Bcast_c.
enum class Spelling { plain, profiling, large };

/// What all ranks do next; those that are no member of the communicator leave it out.
struct Step {
  Kind kind;
  int comm;       // which one, in the order of their making; 0: MPI_COMM_WORLD
  int count = 0;  // elements; of a split: the number of parts, 0: it is left out
  int type =
      0;  // 0: int, exact; 1: double, rounded; 2: pairs, by an operator that does not commute
  int root = 0;  // modulo the communicator's size; of a wait: 1 frees the requests
  std::vector<Time> compute = {};  // of each rank, before the call
  Wrong wrong = Wrong::none;
  int wrong_rank = 0;  // the rank of the world that asks wrongly
  bool again = true;   // it asks again, rightly, where MPI refuses
  int request = -1;    // the call is started as this persistent one, and waited for later
  bool tells = false;  // ranks tell how far they have computed
};

/// Requests for memory that fail on one rank.
struct Shortage {
  int rank = -1;
  Resource resource = Resource::heap;
  int step = 0;           // the first requests are made in this one
  std::size_t least = 0;  // bytes; smaller requests succeed
  int after = 0;          // so many succeed
  int times = 1;          // so many fail then
};

struct World {
  std::uint64_t seed = 0;
  int ranks = 2;
  std::vector<int> hosts;    // of each rank
  bool one_machine = false;  // hosts differ by name alone
  Net net;
  std::string algorithm = "auto";
  bool online = true;
  std::vector<std::string> environment;
  int other_settings = -1;     // the rank that has further ones
  std::vector<double> drifts;  // of the hosts' clocks; empty: none
  std::vector<Step> steps;
  int dies = -1;        // a rank
  int dies_before = 0;  // the step that it does not begin
  Time dies_after = 0;  // if more than 0: it dies so long after it began that step
  Shortage shortage;
  // With the drop-in library; otherwise ranks are linked with the library of the C API.
  bool dropin = false;
  int without = -1;  // a rank that does not have it
  std::vector<Spelling> spellings;
  std::vector<Time> begins;  // when ranks come out of MPI_Init
  /// A rank comes so late that others take it for missing.
  [[nodiscard]] bool begins_apart() const;
  std::string traces;  // ranks write traces into this folder, and the truth beside them; empty: not
  std::string broken;  // a fault of rank 0 that a check must find (self_test.cpp)
};

struct Outcome {
  std::vector<std::string> faults;  // none: all was right
  std::uint64_t calls = 0;          // of all ranks
  std::uint64_t messages = 0;
  std::uint64_t told = 0;    // errors that ranks were told of and that had a cause
  std::uint64_t failed = 0;  // requests for memory that failed
  Time took = 0;             // of the world's time
  std::size_t held = 0;      // bytes that the library held before MPI_Finalize, on one rank at most
  bool ended = false;        // all ranks came to their end, or died
  bool apart = false;        // ranks asked which machine they are on
  std::string said;          // on standard error, by all ranks
};

/// A world of at most `most_ranks` ranks and so many steps.
World draw(std::uint64_t seed, int most_ranks, int steps);
/// The same world with persistent calls: many of its calls are started, and waited for later.
World with_requests(World world);
/// The same world for the drop-in library, with spellings and beginnings of MPI.
World with_dropin(World world);
Outcome play(const World& world);
/// The same world with traces, in a folder of its own in this one.
World with_traces(World world, const std::string& folder);
/// The same world with every call left to the MPI library.
World left_to_mpi(World world);
/// Plays worlds with one known fault each, and prints those that no check finds. true: none.
bool self_test();
/// A smaller world with a fault of the same first words, by leaving out what it can do without.
World shrink(const World& world, const Outcome& outcome);
/// One line for each thing that a reader needs to play it in the head.
std::string listing(const World& world);

}  // namespace latecomer::worlds
