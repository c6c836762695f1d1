// Records of the calls on one communicator, by key and by call site. Bounded: the first keys and
// sites have records of their own, all further ones share one.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "forecast/call_sequence.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runtime/report/savings.hpp"
#include "schedule/problem.hpp"

namespace latecomer {

/// The counter that a call adds to by how it ended.
using CallCounter = std::uint64_t latecomer_stats::*;

/// One call that ended.
struct EndedCall {
  /// The telemetry of a call.
  struct Telemetry {
    int period;
    int position;
    Seconds waiting;
    Seconds moving;
    Savings::Timed timed;
    std::optional<Seconds> estimate_error;  // none: no arrivals were expected
  };

  std::uint64_t number = 0;  // on the communicator
  const Problem& problem;    // as far as the arguments are valid
  const void* site = nullptr;
  CallCounter counter = nullptr;
  std::uint64_t before_arrival = 0;  // operations done by then
  Seconds inside = 0;
  bool well = false;
  std::string_view algorithm = "native";
  std::string_view parameters{};
  std::optional<Telemetry> telemetry{};
};

/// The calls of one key.
struct KeyRecord {
  struct Choice {
    std::string algorithm;
    std::string parameters;
    std::uint64_t calls = 0;
  };

  latecomer_stats calls{};
  latecomer_times times{};
  std::vector<Choice> choices;  // in the order of their first use
  std::int32_t last_choice = -1;
  std::uint64_t last_call = 0;  // that went well
  std::uint64_t other_choices = 0;
  std::uint64_t estimated = 0;
  Seconds estimate_error = 0;

  /// `repeats` calls, the last one of this number.
  void count(std::string_view algorithm, std::string_view parameters, std::uint64_t number,
             std::uint64_t repeats = 1);
};

class Statistics {
 public:
  struct Records {
    KeyRecord* key = nullptr;
    latecomer_site_stats* site = nullptr;

    /// `count` calls of the MPI library's, all of which went well, the last one of this number.
    void add(CallCounter counter, std::uint64_t count, Seconds inside, std::uint64_t number) const;
  };
  /// Adds a call. Returns its records, whose addresses stay valid.
  Records add(const EndedCall& call);

  [[nodiscard]] std::size_t key_count() const { return keys_.size(); }
  [[nodiscard]] latecomer_key_stats key(std::size_t index) const;
  [[nodiscard]] std::vector<latecomer_key_stats> keys() const;
  [[nodiscard]] const std::deque<latecomer_site_stats>& sites() const { return sites_; }
  [[nodiscard]] SavedTime saved() const { return savings_.estimate(); }

 private:
  struct Key {
    Collective collective;
    Count bytes;
    bool commutative;
    bool exact;
    int period;
    int position;

    auto operator<=>(const Key&) const = default;
  };

  KeyRecord& key_record(const EndedCall& call);
  latecomer_site_stats& site_record(const void* address);
  void add_to_savings(const EndedCall& call);

  std::map<Key, std::size_t> key_places_;  // further ones share a record that has no place
  std::map<const void*, std::size_t> site_places_;
  std::deque<KeyRecord> keys_;
  std::deque<latecomer_site_stats> sites_;
  Savings savings_;
};

}  // namespace latecomer
