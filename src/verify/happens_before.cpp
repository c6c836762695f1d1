#include "verify/happens_before.hpp"

#include <algorithm>

#include "base/threads.hpp"
#include "verify/interval_map.hpp"

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
    const Operation& op = operation_of(programs, at);
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
  for (const OpIndex earlier : program_of(programs_, at).after[at.index]) reach({at.rank, earlier});
}

/// Goes on to the ranks that an operation hears of when it ends.
void HappensBefore::reach_other_ranks(Step at) {
  const Operation& op = operation_of(programs_, at);
  if (op.kind == OpKind::recv) {
    const auto rank = static_cast<std::size_t>(at.rank);
    reach_dependencies({op.peer, messages_.partner[rank][at.index]});
  } else if (op.kind == OpKind::await) {
    const std::uint32_t flag = flags_.number(program_of(programs_, at), op.flag);
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

namespace {

constexpr std::uint32_t kNoFlag = ~std::uint32_t{0};

/// The operations that touched an element last. Several writers are accumulates on one flag: each
/// of them must follow what came `before` the first.
struct TouchedOnNode {
  std::vector<Step> before;
  std::vector<Step> writers;
  std::vector<Step> readers;  // since the first writer
  std::uint32_t flag = kNoFlag;
  bool operator==(const TouchedOnNode&) const = default;
};

/// Sweeps over an execution. Any two operations of different ranks in conflict are ordered if each
/// one follows those that touched its elements last, and a rank's own ones are (rule hazard).
class RaceSweep {
 public:
  RaceSweep(Programs programs, HappensBefore& order)
      : programs_(programs), order_(order), nodes_(programs.size()) {}

  Finding add(Step at) {
    const Operation& op = operation_of(programs_, at);
    // Operations that only order others touch nothing.
    if (op.kind == OpKind::signal || op.kind == OpKind::await) return {};
    const Accesses touched = accesses(op);
    earlier_.clear();
    if (op.kind == OpKind::accumulate) {
      read(at, op.source);
      accumulate(at, op.target);
    } else {
      for (const Slice& slice : touched.reads) read(at, slice);
      write(at, touched.write);
    }
    return check(at);
  }

 private:
  void read(Step at, const Slice& slice) {
    update(at, slice, [&](TouchedOnNode& touched) {
      expect(touched.writers);
      touched.readers.push_back(at);
    });
  }

  void write(Step at, const Slice& slice) {
    update(at, slice, [&](TouchedOnNode& touched) {
      expect(touched.writers);
      expect(touched.readers);
      touched = {{}, {at}, {}, kNoFlag};
    });
  }

  void accumulate(Step at, const Slice& slice) {
    const std::uint32_t flag =
        order_.flags().number(program_of(programs_, at), operation_of(programs_, at).flag);
    update(at, slice, [&](TouchedOnNode& touched) {
      if (touched.flag != flag) {
        touched.before = std::move(touched.writers);
        touched.before.insert(touched.before.end(), touched.readers.begin(), touched.readers.end());
        touched.writers.clear();
        touched.readers.clear();
        touched.flag = flag;
      }
      expect(touched.before);
      expect(touched.readers);
      touched.writers.push_back(at);
    });
  }

  /// Calls change(TouchedOnNode&) for each part of a slice of the node's buffer.
  template <typename Change>
  void update(Step at, const Slice& slice, Change change) {
    if (slice.empty() || slice.buffer != Buffer::node) return;
    nodes_[static_cast<std::size_t>(program_of(programs_, at).node)].update(
        {slice.begin, slice.count}, [&](Range, TouchedOnNode& touched) { change(touched); });
  }

  void expect(const std::vector<Step>& earlier) {
    earlier_.insert(earlier_.end(), earlier.begin(), earlier.end());
  }

  Finding check(Step at) {
    if (earlier_.empty()) return {};
    const auto other = order_.first_unordered(earlier_, at);
    if (!other) return {};
    return Counterexample{"race", place(programs_, at) + " and " + place(programs_, *other) +
                                      " touch the same elements of the buffer of node " +
                                      std::to_string(program_of(programs_, at).node) +
                                      ", at least one writes them, and nothing orders the two"};
  }

  Programs programs_;
  HappensBefore& order_;
  std::vector<IntervalMap<TouchedOnNode>> nodes_;
  std::vector<Step> earlier_;  // those that one operation must follow
};

}  // namespace

Finding check_races(Programs programs, const Messages& messages, const Execution& execution,
                    HappensBefore& order) {
  RaceSweep sweep(programs, order);
  for (const Step at : execution.steps) {
    interruption_point();
    const Operation& op = operation_of(programs, at);
    if (op.kind == OpKind::recv) {
      const auto rank = static_cast<std::size_t>(at.rank);
      if (Finding found = sweep.add({op.peer, messages.partner[rank][at.index]})) return found;
    }
    if (Finding found = sweep.add(at)) return found;
  }
  return {};
}

}  // namespace latecomer::verifier
