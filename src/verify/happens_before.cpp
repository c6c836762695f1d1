#include "verify/happens_before.hpp"

#include <algorithm>

#include "base/threads.hpp"

namespace latecomer::verifier {

HappensBefore::HappensBefore(Programs programs, const Messages& messages, const Flags& flags,
                             const Execution& execution)
    : programs_(programs), messages_(messages), flags_(flags), flag_seen_by_(flags.size()) {
  std::size_t operations = 0;
  for (const Program& program : programs) {
    first_.push_back(operations);
    operations += program.operations.size();
  }
  position_.resize(operations);
  seen_by_.resize(operations);
  wanted_by_.resize(operations);
  for (std::uint32_t next = 0; next < execution.steps.size(); ++next) {
    const Step at = execution.steps[next];
    position_[number(at)] = next;
    const Operation& op = program(at).operations[at.index];
    if (op.kind != OpKind::recv) continue;
    const auto rank = static_cast<std::size_t>(at.rank);
    position_[number({op.peer, messages.partner[rank][at.index]})] = next;
  }
}

void HappensBefore::reach(Step at) {
  const std::size_t which = number(at);
  if (seen_by_[which] == search_ || position_[which] < lowest_) return;
  seen_by_[which] = search_;
  if (wanted_by_[which] == search_) --missing_;
  open_.push_back(at);
}

void HappensBefore::reach_dependencies(Step at) {
  for (const OpIndex earlier : program(at).after[at.index]) reach({at.rank, earlier});
}

/// Goes on to the ranks that an operation hears of when it ends.
void HappensBefore::reach_other_ranks(Step at) {
  const Operation& op = program(at).operations[at.index];
  if (op.kind == OpKind::recv) {
    const auto rank = static_cast<std::size_t>(at.rank);
    reach_dependencies({op.peer, messages_.partner[rank][at.index]});
  } else if (op.kind == OpKind::await) {
    const std::uint32_t flag = flags_.number(program(at), op.flag);
    if (flag_seen_by_[flag] == search_) return;
    flag_seen_by_[flag] = search_;
    for (const Step counted : flags_.counting(flag)) reach(counted);
  }
}

std::optional<Step> HappensBefore::first_unordered(const std::vector<Step>& earlier, Step later) {
  ++search_;
  missing_ = 0;
  lowest_ = ~std::uint32_t{0};
  for (const Step at : earlier) {
    const std::size_t which = number(at);
    if (at.rank == later.rank || wanted_by_[which] == search_) continue;
    wanted_by_[which] = search_;
    lowest_ = std::min(lowest_, position_[which]);
    ++missing_;
  }
  open_.clear();
  if (missing_ > 0) reach_dependencies(later);
  for (std::size_t next = 0; next < open_.size() && missing_ > 0; ++next) {
    interruption_point();
    const Step at = open_[next];
    reach_dependencies(at);
    reach_other_ranks(at);
  }
  if (missing_ == 0) return {};
  const auto unordered = [&](Step at) {
    return at.rank != later.rank && seen_by_[number(at)] != search_;
  };
  return *std::find_if(earlier.begin(), earlier.end(), unordered);
}

}  // namespace latecomer::verifier
