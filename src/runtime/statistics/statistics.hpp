// What calls on one communicator did, by key and by call site. Bounded: the first keys and sites
// have entries of their own, all further ones share one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "arrival/call_sequence.hpp"
#include "latecomer/latecomer_mpi.h"
#include "schedule/problem.hpp"

namespace latecomer {

/// One call that ended.
struct EndedCall {
  /// What telemetry told of it.
  struct Told {
    int period;
    int position;
    Seconds waiting;
    Seconds moving;
    std::optional<Seconds> estimate_error;  // none: nobody was expected late, or nobody knew
  };

  Problem problem;  // as far as the arguments make sense
  const void* site = nullptr;
  latecomer_stats before{};
  latecomer_stats after{};
  Seconds inside = 0;
  bool well = false;
  std::string_view algorithm;
  std::string_view parameters;
  std::optional<Told> told;
};

class Statistics {
 public:
  void add(const EndedCall& call);

  [[nodiscard]] const std::vector<latecomer_key_stats>& keys() const { return keys_; }
  [[nodiscard]] const std::vector<latecomer_site_stats>& sites() const { return sites_; }

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

  latecomer_key_stats& key_entry(const EndedCall& call);
  latecomer_site_stats& site_entry(const void* address);

  std::map<Key, std::size_t> key_places_;
  std::map<const void*, std::size_t> site_places_;
  std::vector<latecomer_key_stats> keys_;
  std::vector<latecomer_site_stats> sites_;
};

}  // namespace latecomer
