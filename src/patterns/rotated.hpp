// Ranks by their distance from the root, so that patterns with root 0 serve any root.
#pragma once

#include "patterns/trees.hpp"

namespace latecomer {

class Rotated {
 public:
  Rotated(Rank ranks, Rank root) : ranks_(ranks), root_(root) {}

  [[nodiscard]] Rank position(Rank rank) const { return (rank - root_ + ranks_) % ranks_; }
  [[nodiscard]] Rank rank(Rank position) const { return (position + root_) % ranks_; }

 private:
  Rank ranks_;
  Rank root_;
};

}  // namespace latecomer
