// What a rank hands on it received before: by which move.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "base/types.hpp"

namespace latecomer::moving {

using MoveIndex = std::uint32_t;  // in a list of moves

/// Who brought which part of the vector to a rank last.
class Brought {
 public:
  void add(Range range, MoveIndex move) {
    for (auto cell = first(range); cell != cells_.end() && cell->first < range.end();) {
      cell = cells_.erase(cell);
    }
    cells_[range.begin] = {range.end(), move};
  }
  template <class Visit>
  void each(Range range, Visit&& visit) const {
    for (auto cell = first(range); cell != cells_.end() && cell->first < range.end(); ++cell) {
      visit(cell->second.second);
    }
  }

 private:
  using Cells = std::map<Count, std::pair<Count, MoveIndex>>;

  [[nodiscard]] Cells::const_iterator first(Range range) const {
    auto cell = cells_.upper_bound(range.begin);
    if (cell == cells_.begin()) return cell;
    const auto before = std::prev(cell);
    return before->second.first > range.begin ? before : cell;
  }

  Cells cells_;
};

}  // namespace latecomer::moving
