// The calls of all ranks, brought together when the job ends: who waited for whom, and where.
//
// Each rank has stamps of its own calls (runtime/trace/stamps.hpp). The members of a communicator
// share the work: each gets all arrivals of an equal part of the calls.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/reproducible.hpp"
#include "base/types.hpp"
#include "clocks/clock.hpp"
#include "runtime/report/job_summary.hpp"
#include "runtime/trace/stamps.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer::matching {

// The calls of communicators with the same members, as their ranks bring them together.

/// The part of one rank, as rank 0 gets it.
struct Entry {
  std::uint64_t key = 0;
  std::uint64_t size = 0;
  std::uint64_t calls = 0;
  std::uint64_t numbers = 0;  // a hash of which calls these are
  std::uint64_t mask = 0;     // the largest
};

/// Those that all members know alike.
struct Known {
  std::uint64_t key = 0;
  std::uint64_t mask = 0;
};

/// One rank's part of a call.
struct Times {
  Seconds arrival = 0;
  Seconds exit = 0;
  Seconds ready = 0;             // as in lateness/calls.hpp
  std::uint64_t collective = 0;  // a hash of its name
};

struct PlaceKey {
  std::uint32_t collective;
  std::int64_t bytes;
  const void* site;

  auto operator<=>(const PlaceKey&) const = default;
};

/// This rank's stamps of communicators with the same members, and what it finds out about its part
/// of their calls.
struct Group {
  std::vector<std::int32_t> members;
  std::vector<stamps::CommStamps*> comms;  // in the same order on all members
  std::uint64_t calls = 0;
  std::vector<stamps::Stamp> sample;  // the same calls on all members, in the same order
  std::map<PlaceKey, Waits> places;
  double weight = 1;  // calls for each one in the sample
  std::uint64_t unlike = 0;

  // The first call, if it is in this rank's part.
  std::optional<Waits> first;
  PlaceKey first_place{};
  Seconds first_time = 0;

  /// All of its calls.
  [[nodiscard]] Entry made() const {
    Entry entry{comms.front()->key(), members.size(), calls, 0, 0};
    std::vector<std::uint64_t> numbers;
    for (const auto* each : comms) {
      numbers.insert(numbers.end(), {each->which().name, each->which().number, each->calls()});
      entry.mask = std::max(entry.mask, each->mask());
    }
    entry.numbers = fnv1a(std::span(numbers));
    return entry;
  }
  /// Those in the sample.
  [[nodiscard]] Entry sampled() const {
    std::vector<std::uint64_t> numbers;
    for (const stamps::Stamp& stamp : sample) numbers.push_back(stamp.sequence);
    return {comms.front()->key(), members.size(), sample.size(), fnv1a(std::span(numbers)), 0};
  }
};
using Groups = std::map<std::uint64_t, Group>;

}  // namespace latecomer::matching

namespace latecomer {

/// Collective over `comm`, which has the ranks of MPI_COMM_WORLD. `clock`: the common time at this
/// rank's; `clock_error`: the largest of any rank. The result is complete on rank 0.
[[nodiscard]] JobWaits match_calls(MPI_Comm comm, const ClockModel& clock, Seconds clock_error);

}  // namespace latecomer
