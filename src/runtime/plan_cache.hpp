// The last plans of a communicator and what takes part in them on this rank.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/registry.hpp"
#include "parties/make_party.hpp"

namespace latecomer {

/// A plan and what this rank does to carry it out.
struct Prepared {
  /// `eager`: elements of the longest message whose receive may be posted ahead of its turn.
  Prepared(Plan planned, Rank me, Count most_eager)
      : plan(std::move(planned)), eager(most_eager), party(make_party(plan, me, eager)) {}

  [[nodiscard]] const Frame& frame() const { return party->frame(); }

  Plan plan;
  Count eager;
  std::unique_ptr<Party> party;
  std::string parameters;  // the plan's, in words, as an answer to the choice
};

class PlanCache {
 public:
  /// The network or telemetry changed: what is cached may be found again only by an equal plan.
  void outdate() { ++version_; }

  /// Throws Error if the algorithm refuses the problem. Valid until the next call.
  const Prepared& get(const Choice& choice, const Problem& problem, const Knowledge& knowledge,
                      Rank me);

  /// What tells all ranks beside a call that the MPI library carries out. Valid until the next
  /// call.
  const Prepared& telling(const Problem& problem, Rank me);
  /// A plan that another rank made, as an answer to the choice. Valid until the next call.
  const Prepared& adopt(Plan plan, Rank me, Count eager, const Choice& choice);

  [[nodiscard]] std::uint64_t plans_made() const { return made_; }
  [[nodiscard]] std::uint64_t programs_built() const { return built_; }

 private:
  static constexpr std::size_t kEntries = 16;
  struct Entry {
    Entry(Plan plan, Rank me, Count eager) : prepared(std::move(plan), me, eager) {}

    [[nodiscard]] bool answers(const Choice& choice, const Problem& problem,
                               const Knowledge& knowledge) const;

    std::uint64_t version = 0;  // of the network and of telemetry
    Choice choice{};
    Problem asked;                  // a plan's own may promise less
    std::vector<Seconds> arrivals;  // that were known; matter to arrival-aware algorithms only
    bool background = false;        // whether ranks had progress threads; likewise
    Prepared prepared;
  };

  /// Makes the entry the last one, the place of the one used last.
  Entry& use(std::size_t index);
  Entry& find_or_add(Plan plan, Rank me, Count eager);

  std::uint64_t version_ = 0;
  std::uint64_t made_ = 0;
  std::uint64_t built_ = 0;
  std::vector<std::unique_ptr<Entry>> entries_;  // used longest ago first
};

}  // namespace latecomer
