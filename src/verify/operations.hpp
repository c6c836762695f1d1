// Rules on the operations of each rank by itself.
#pragma once

#include <vector>

#include "schedule/program.hpp"
#include "verify/words.hpp"

namespace latecomer::verifier {

/// The order of a program's operations by its dependencies, directly or through others.
class Ancestry {
 public:
  explicit Ancestry(const Program& program)
      : program_(program), seen_by_(program.operations.size(), kNobody) {}

  /// The first of the `earlier` operations that `index` does not wait for; `index` if it waits for
  /// all. One search back, no further than the earliest that is asked for.
  [[nodiscard]] OpIndex first_unordered(std::vector<OpIndex> earlier, OpIndex index);

 private:
  static constexpr OpIndex kNobody = ~OpIndex{0};

  void search(OpIndex from, OpIndex lowest);

  const Program& program_;
  std::vector<OpIndex> seen_by_;  // the last operation whose search passed
  std::vector<OpIndex> open_;
};

// Rules that look at one operation at a time: plan, bounds, dependencies. The later rules rely on
// them: after these, every index, slice and peer can be used without a further check.

/// `plan`: that they follow, which also says their hash, nodes and progress; null: any.
[[nodiscard]] Finding check_plan(const Problem& problem, Programs programs,
                                 const Plan* plan = nullptr);
[[nodiscard]] Finding check_bounds(Programs programs);
[[nodiscard]] Finding check_dependencies(Programs programs);

// Rules about which elements the operations of one rank touch, and in which order: hazard,
// arrival, read-only.

[[nodiscard]] Finding check_hazards(Programs programs);
[[nodiscard]] Finding check_arrival(Programs programs);
[[nodiscard]] Finding check_read_only(Programs programs);

}  // namespace latecomer::verifier
