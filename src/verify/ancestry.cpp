#include "verify/ancestry.hpp"

#include <algorithm>

#include "base/threads.hpp"

namespace latecomer::verifier {

OpIndex Ancestry::first_unordered(std::vector<OpIndex> earlier, OpIndex index) {
  const auto seen = [&](OpIndex other) { return seen_by_[other] == index; };
  for (const OpIndex direct : program_.after[index]) seen_by_[direct] = index;
  std::erase_if(earlier, seen);
  if (earlier.empty()) return index;
  std::sort(earlier.begin(), earlier.end());
  search(index, earlier.front());
  const auto missed = std::find_if_not(earlier.begin(), earlier.end(), seen);
  return missed == earlier.end() ? index : *missed;
}

void Ancestry::search(OpIndex from, OpIndex lowest) {
  open_ = program_.after[from];
  while (!open_.empty()) {
    interruption_point();
    const OpIndex at = open_.back();
    open_.pop_back();
    for (const OpIndex next : program_.after[at]) {
      if (next < lowest || seen_by_[next] == from) continue;
      seen_by_[next] = from;
      open_.push_back(next);
    }
  }
}

}  // namespace latecomer::verifier
