// The order of a program's operations by its dependencies, directly or through others.
#pragma once

#include <vector>

#include "schedule/program.hpp"

namespace latecomer::verifier {

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

}  // namespace latecomer::verifier
