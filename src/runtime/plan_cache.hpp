// The last plans of a communicator and this rank's programs for them.
#pragma once

#include <memory>
#include <vector>

#include "algorithms/registry.hpp"

namespace latecomer {

/// A plan and what this rank does to carry it out.
struct Prepared {
  Plan plan;
  Program program;
};

class PlanCache {
 public:
  /// The choice or knowledge changed: what is cached may be found again only by an equal plan.
  void outdate() { ++version_; }

  /// Throws Error if the algorithm refuses the problem. Valid until the next call.
  const Prepared& get(const Choice& choice, const Problem& problem, const Knowledge& knowledge,
                      Rank me);

  [[nodiscard]] std::uint64_t programs_built() const { return built_; }

 private:
  static constexpr std::size_t kEntries = 8;
  struct Entry {
    std::uint64_t version;  // of choice and knowledge
    Problem asked;          // a plan's own may promise less
    Prepared prepared;
  };

  /// Moves the entry to the back, the place of the one used last.
  const Prepared& use(std::size_t index);
  void add(const Problem& asked, Plan plan, Rank me);

  std::uint64_t version_ = 0;
  std::uint64_t built_ = 0;
  std::vector<std::unique_ptr<Entry>> entries_;  // used longest ago first
};

}  // namespace latecomer
