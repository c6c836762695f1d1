#include "verify/flags.hpp"

#include <algorithm>

#include "base/threads.hpp"

namespace latecomer::verifier {
namespace {

const Operation& operation(Programs programs, Step at) {
  return programs[static_cast<std::size_t>(at.rank)].operations[at.index];
}

std::string place_of(Programs programs, Step at) {
  return verifier::place(programs[static_cast<std::size_t>(at.rank)], at.index);
}

/// The fault of the operations that count on one flag, in words.
std::string counting_fault(Programs programs, const std::vector<Step>& counting) {
  for (const Step at : counting) {
    const Operation& first = operation(programs, counting.front());
    const Operation& op = operation(programs, at);
    const std::string both = place_of(programs, at) + " and " +
                             place_of(programs, counting.front()) + " are on one flag of ";
    const std::string node =
        "node " + std::to_string(programs[static_cast<std::size_t>(at.rank)].node);
    if (op.kind != first.kind) return both + node + ": it takes accumulates or signals, not both";
    if (op.kind != OpKind::accumulate || op.target == first.target) continue;
    return both + node + ": all accumulates on a flag have one target";
  }
  return "";
}

Finding awaits_of(const Program& program, const Flags& flags) {
  for (OpIndex i = 0; i < program.operations.size(); ++i) {
    const Operation& op = program.operations[i];
    if (op.kind != OpKind::await) continue;
    const auto all = static_cast<Count>(flags.counting(flags.number(program, op.flag)).size());
    if (op.count == all) continue;
    return Counterexample{
        "flags", verifier::place(program, i) + " should wait for all signals and " +
                     "accumulates on the flag: node " + std::to_string(program.node) + " has " +
                     std::to_string(all)};
  }
  return {};
}

}  // namespace

Flags::Flags(Programs programs) {
  std::vector<std::uint32_t> of_node;
  for (const Program& program : programs) {
    const auto node = static_cast<std::size_t>(program.node);
    if (of_node.size() <= node) of_node.resize(node + 1);
    of_node[node] = std::max(of_node[node], static_cast<std::uint32_t>(program.flags));
  }
  std::uint32_t next = 0;
  for (const std::uint32_t flags : of_node) {
    first_.push_back(next);
    next += flags;
  }
  counting_.resize(next);
  for (const Program& program : programs) {
    if (program.flags == 0) continue;
    interruption_point();
    for (OpIndex i = 0; i < program.operations.size(); ++i) {
      const Operation& op = program.operations[i];
      if (op.kind != OpKind::signal && op.kind != OpKind::accumulate) continue;
      counting_[number(program, op.flag)].push_back({program.me, i});
    }
  }
}

std::string flag_text(const Program& program, std::int32_t flag) {
  return "flag " + std::to_string(flag) + " of node " + std::to_string(program.node);
}

Finding check_flags(Programs programs, const Flags& flags) {
  for (std::uint32_t flag = 0; flag < flags.size(); ++flag) {
    interruption_point();
    const std::string fault = counting_fault(programs, flags.counting(flag));
    if (!fault.empty()) return Counterexample{"flags", fault};
  }
  for (const Program& program : programs) {
    interruption_point();
    if (program.flags == 0) continue;
    if (Finding found = awaits_of(program, flags)) return found;
  }
  return {};
}

}  // namespace latecomer::verifier
