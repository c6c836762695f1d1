#include "verify/node_memory.hpp"

#include "base/interruption.hpp"
#include "verify/interval_map.hpp"

namespace latecomer::verifier {
namespace {

constexpr std::uint32_t kNoFlag = ~std::uint32_t{0};

/// The operations that touched an element last. Several writers are accumulates on one flag: each
/// of them must follow what came `before` the first.
struct Touched {
  std::vector<Step> before;
  std::vector<Step> writers;
  std::vector<Step> readers;  // since the first writer
  std::uint32_t flag = kNoFlag;
  bool operator==(const Touched&) const = default;
};

/// Sweeps over an execution. Any two operations of different ranks in conflict are ordered if each
/// one follows those that touched its elements last, and a rank's own ones are (rule hazard).
class Sweep {
 public:
  Sweep(Programs programs, HappensBefore& order)
      : programs_(programs), order_(order), nodes_(programs.size()) {}

  Finding add(Step at) {
    const Operation& op = operation(at);
    // Operations that only order others touch nothing.
    if (op.kind == OpKind::signal || op.kind == OpKind::await) return {};
    const Accesses touched = accesses(op);
    if (op.kind == OpKind::accumulate) {
      if (Finding found = read(at, op.source)) return found;
      return accumulate(at, op.target);
    }
    for (const Slice& slice : touched.reads) {
      if (Finding found = read(at, slice)) return found;
    }
    return write(at, touched.write);
  }

 private:
  const Program& program(Step at) const { return programs_[static_cast<std::size_t>(at.rank)]; }
  const Operation& operation(Step at) const { return program(at).operations[at.index]; }

  Finding read(Step at, const Slice& slice) {
    return update(at, slice, [&](Touched& touched, Finding& found) {
      expect(touched.writers, at, slice, found);
      touched.readers.push_back(at);
    });
  }

  Finding write(Step at, const Slice& slice) {
    return update(at, slice, [&](Touched& touched, Finding& found) {
      expect(touched.writers, at, slice, found);
      expect(touched.readers, at, slice, found);
      touched = {{}, {at}, {}, kNoFlag};
    });
  }

  Finding accumulate(Step at, const Slice& slice) {
    const std::uint32_t flag = order_.flags().number(program(at), operation(at).flag);
    return update(at, slice, [&](Touched& touched, Finding& found) {
      if (touched.flag != flag) {
        touched.before = std::move(touched.writers);
        touched.before.insert(touched.before.end(), touched.readers.begin(), touched.readers.end());
        touched.writers.clear();
        touched.readers.clear();
        touched.flag = flag;
      }
      expect(touched.before, at, slice, found);
      expect(touched.readers, at, slice, found);
      touched.writers.push_back(at);
    });
  }

  /// Calls change(Touched&, Finding&) for each part of a slice of the node's buffer.
  template <typename Change>
  Finding update(Step at, const Slice& slice, Change change) {
    Finding found;
    if (slice.empty() || slice.buffer != Buffer::node) return found;
    nodes_[static_cast<std::size_t>(program(at).node)].update(
        {slice.begin, slice.count}, [&](Range, Touched& touched) { change(touched, found); });
    return found;
  }

  void expect(const std::vector<Step>& earlier, Step at, const Slice& slice, Finding& found) {
    if (found) return;
    const auto other = order_.first_unordered(earlier, at);
    if (!other) return;
    found =
        Counterexample{"race", place(program(at), at.index) + " and " +
                                   place(program(*other), other->index) + " touch elements of " +
                                   to_text(slice) + " on node " + std::to_string(program(at).node) +
                                   ", at least one writes them, and nothing " + "orders the two"};
  }

  Programs programs_;
  HappensBefore& order_;
  std::vector<IntervalMap<Touched>> nodes_;
};

}  // namespace

Finding check_races(Programs programs, const Messages& messages, const Execution& execution,
                    HappensBefore& order) {
  Sweep sweep(programs, order);
  for (const Step at : execution.steps) {
    interruption_point();
    const Operation& op = programs[static_cast<std::size_t>(at.rank)].operations[at.index];
    if (op.kind == OpKind::recv) {
      const auto rank = static_cast<std::size_t>(at.rank);
      if (Finding found = sweep.add({op.peer, messages.partner[rank][at.index]})) return found;
    }
    if (Finding found = sweep.add(at)) return found;
  }
  return {};
}

}  // namespace latecomer::verifier
