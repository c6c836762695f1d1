#include "trace/rank_file.hpp"

#include <utility>

namespace latecomer::trace {

void RankFile::add(Fault fault) {
  for (Fault& each : faults) {
    if (each.what != fault.what) continue;
    each.count += fault.count;
    return;
  }
  faults.push_back(std::move(fault));
}

}  // namespace latecomer::trace
