// How communicators begin: the network and the rules that files give them, and what a drop-in
// library sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/network.hpp"
#include "base/threads.hpp"
#include "choose/policy.hpp"
#include "rules/rules.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

/// The file's text. `what`: of the file, for messages. Throws Error for anything but a regular file
/// of at most `most` bytes that can be read; never waits for the writer of a pipe.
[[nodiscard]] std::string read_small_file(const std::string& what, const std::string& name,
                                          std::size_t most);

/// Costs as parse_network reads them, or @FILE: a file with one line of costs and comments that
/// start with #, as `latecomer calibrate` writes it. Throws Error, which shows nothing of the file.
[[nodiscard]] Network read_network(std::string_view text);

/// The network of the environment variable LATECOMER_NETWORK, else of the rules in force, else the
/// built-in one. A value that cannot be read is reported on stderr, once a job, and not used.
[[nodiscard]] Network default_network();

/// The rules in the file that the environment variable LATECOMER_RULES names; null: none. The file
/// is read once. One that cannot be read is reported on stderr, once a job, and not used.
[[nodiscard]] std::shared_ptr<const UserRules> default_rules();

/// A hash of the file's text, for ranks to compare; 0 if the variable is not set. It needs no MPI.
[[nodiscard]] std::uint64_t hash_of_default_rules();

/// How communicators begin. Programs written for latecomer set each communicator; for others a
/// drop-in library sets this once, alike on all ranks, before the first communicator is used.
struct Defaults {
  Policy policy;
  /// Nothing but the program's own calls in calls that some ranks may leave before others enter:
  /// the ranks are linked, and reviews are made, in their next call that all wait in.
  bool waits_for_synchronising_calls = false;
  /// True for communicators whose calls are all the MPI library's; null: for none.
  bool (*leaves_alone)(MPI_Comm comm) = nullptr;
  /// Communicators at a time that may have a state; further ones have no calls that are known.
  std::size_t most_states = ~std::size_t{0};
};

[[nodiscard]] inline Defaults& defaults() { return lasting<Defaults>(); }

}  // namespace latecomer
