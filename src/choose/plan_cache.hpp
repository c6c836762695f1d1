// The plans of a communicator, by the request that they answer. All ranks keep the same plans:
// their memory has a limit that all ranks count alike.
#pragma once

#include <list>
#include <memory>

#include "algorithms/registry.hpp"
#include "price/price.hpp"

namespace latecomer {

/// A plan and the request that it answers.
struct CachedPlan {
  Choice asked;
  Problem problem;                // as requested: the plan's own may be weaker
  Network network;                // that it was made for
  std::vector<Seconds> arrivals;  // relevant for arrival-aware algorithms only
  bool background = false;        // likewise; true if ranks have progress threads
  std::vector<bool> mostly_late;  // relevant for coordinated rows only
  bool telemetry = false;
  bool nodes = false;                // made with a placement
  Seconds balanced = 0;              // its price if all ranks arrive together
  NetworkParts shares{};             // of the network's parts in it
  std::shared_ptr<const Plan> plan;  // shared by equal answers
};

class PlanCache {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{192} << 10;

  /// Returns the plan, or null if it would have to be made. Does not allocate.
  [[nodiscard]] const CachedPlan* find(const Choice& choice, const Problem& problem,
                                       const Knowledge& knowledge);
  /// Throws Error if the algorithm refuses the problem. The result is valid until the next call
  /// of get(); its plan lives as long as it is referenced.
  const CachedPlan& get(const Choice& choice, const Problem& problem, const Knowledge& knowledge);
  /// Drops all plans, after a change of an assumption.
  void clear();

  [[nodiscard]] std::uint64_t plans_made() const { return made_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::uint64_t key = 0;
    std::size_t bytes = 0;
    CachedPlan cached;
  };
  using Entries = std::list<Entry>;

  [[nodiscard]] std::shared_ptr<const Plan> shared(Plan plan) const;
  void drop_oldest();

  Entries entries_;  // used longest ago first
  std::unordered_multimap<std::uint64_t, Entries::iterator> by_key_;
  std::size_t bytes_ = 0;
  std::uint64_t made_ = 0;
};

}  // namespace latecomer
