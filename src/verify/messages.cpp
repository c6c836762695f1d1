#include "verify/messages.hpp"

#include <algorithm>
#include <map>

#include "base/threads.hpp"

namespace latecomer::verifier {
namespace {

/// The number of each channel of one rank.
using Known = std::map<std::pair<OpKind, Rank>, std::uint32_t>;

Known sort_messages(const Program& program, std::vector<Channel>& channels,
                    std::vector<std::uint32_t>& channel_of) {
  Known known;
  channel_of.resize(program.operations.size());
  for (OpIndex i = 0; i < program.operations.size(); ++i) {
    const Operation& op = program.operations[i];
    if (!is_message(op)) continue;
    const auto next = static_cast<std::uint32_t>(channels.size());
    const auto [entry, added] = known.try_emplace({op.kind, op.peer}, next);
    if (added) channels.push_back({op.kind, op.peer, {}});
    channels[entry->second].operations.push_back(i);
    channel_of[i] = entry->second;
  }
  return known;
}

std::string unmatched(const Program& program, const Channel& channel, std::size_t n) {
  const bool sends = channel.kind == OpKind::send;
  return place(program, channel.operations[n]) + " is " + (sends ? "send" : "receive") +
         " number " + std::to_string(n) + " and has no " + (sends ? "receive" : "send") +
         ": rank " + std::to_string(channel.peer) + (sends ? " receives " : " sends ") +
         quantity(static_cast<Count>(n), "message") + (sends ? " from" : " to") + " rank " +
         std::to_string(program.me);
}

std::string different_counts(const Program& program, OpIndex index, Count count,
                             const Program& peer, OpIndex other, Count other_count) {
  return place(program, index) + " moves " + quantity(count, "element") + " but belongs to rank " +
         std::to_string(peer.me) + ", " + operation_text(peer, other) + ", with " +
         quantity(other_count, "element");
}

Count moved(const Operation& op) {
  return op.kind == OpKind::send ? op.source.count : op.target.count;
}

const Channel* counterpart(const Channel& channel, Rank me, const std::vector<Channel>& channels,
                           const Known& known) {
  const OpKind kind = channel.kind == OpKind::send ? OpKind::recv : OpKind::send;
  const auto entry = known.find({kind, me});
  return entry == known.end() ? nullptr : &channels[entry->second];
}

bool tells(const Program& program, OpIndex index) {
  return std::binary_search(program.piggybacking.begin(), program.piggybacking.end(), index);
}

std::string tells_alone(const Program& program, OpIndex index, const Program& peer, OpIndex other) {
  return place(program, index) + " tells whom its sender has heard of, but rank " +
         std::to_string(peer.me) + ", " + operation_text(peer, other) + ", does not know";
}

/// Gives each operation of the channel its partner; returns the fault in words.
std::string pair_up(const Program& program, const Program& peer, const Channel& channel,
                    const Channel* other, std::vector<OpIndex>& partner) {
  const std::size_t others = other == nullptr ? 0 : other->operations.size();
  for (std::size_t n = 0; n < channel.operations.size(); ++n) {
    if (n == others) return unmatched(program, channel, n);
    const OpIndex mine = channel.operations[n];
    const OpIndex theirs = other->operations[n];
    const Count count = moved(program.operations[mine]);
    const Count other_count = moved(peer.operations[theirs]);
    if (count != other_count) {
      return different_counts(program, mine, count, peer, theirs, other_count);
    }
    if (tells(program, mine) && !tells(peer, theirs)) {
      return tells_alone(program, mine, peer, theirs);
    }
    partner[mine] = theirs;
  }
  return "";
}

}  // namespace

Finding check_matching(Programs programs, Messages& messages) {
  const std::size_t ranks = programs.size();
  std::vector<Known> known(ranks);
  messages.channels.resize(ranks);
  messages.channel_of.resize(ranks);
  messages.partner.resize(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    interruption_point();
    known[r] = sort_messages(programs[r], messages.channels[r], messages.channel_of[r]);
    messages.partner[r].resize(programs[r].operations.size());
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    for (const Channel& channel : messages.channels[r]) {
      interruption_point();
      const auto peer = static_cast<std::size_t>(channel.peer);
      const Channel* other =
          counterpart(channel, programs[r].me, messages.channels[peer], known[peer]);
      std::string wrong = pair_up(programs[r], programs[peer], channel, other, messages.partner[r]);
      if (!wrong.empty()) return Counterexample{"matching", std::move(wrong)};
    }
  }
  return {};
}

namespace {

/// The fault of the operations that count on one flag, in words.
std::string counting_fault(Programs programs, const std::vector<Step>& counting) {
  for (const Step at : counting) {
    const Operation& first = operation_of(programs, counting.front());
    const Operation& op = operation_of(programs, at);
    const std::string both =
        place(programs, at) + " and " + place(programs, counting.front()) + " are on one flag of ";
    const std::string node = "node " + std::to_string(program_of(programs, at).node);
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
    return Counterexample{"flags", place(program, i) + " should wait for all signals and " +
                                       "accumulates on the flag: node " +
                                       std::to_string(program.node) + " has " +
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
