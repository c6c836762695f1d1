#include "graph/activities.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "base/error.hpp"
#include "base/threads.hpp"
#include "simulate/simulation.hpp"

namespace latecomer {
namespace {

/// One operation that sends or receives.
struct Side {
  Rank rank = 0;
  OpIndex operation = 0;
};

struct Channel {
  std::vector<Side> sends;
  std::vector<Side> receives;
  std::uint32_t number = kNone;
};

class Builder {
 public:
  Builder(std::span<const Program> programs, const Network& network, Count element_bytes,
          const Placement& links)
      : programs_(programs), network_(network), element_bytes_(element_bytes) {
    place_ranks(links);
  }

  Activities build() {
    match();
    for (Rank rank = 0; rank < ranks(); ++rank) add_nodes(rank);
    for (Rank rank = 0; rank < ranks(); ++rank) settle_receives(rank);
    for (Rank rank = 0; rank < ranks(); ++rank) add_waits(rank);
    add_message_waits();
    flatten();
    return std::move(all_);
  }

 private:
  [[nodiscard]] Rank ranks() const { return static_cast<Rank>(programs_.size()); }
  [[nodiscard]] const Program& program(Rank rank) const {
    return programs_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::size_t op(Rank rank, OpIndex index) const {
    return first_op_[static_cast<std::size_t>(rank)] + index;
  }
  [[nodiscard]] double bytes(Count elements) const {
    return static_cast<double>(elements * element_bytes_);
  }

  /// Finds the ranks that share a link, and those that share memory.
  void place_ranks(const Placement& links) {
    Placement memory;
    for (const Program& each : programs_) memory.push_back(memory_node(each));
    memory = numbered(memory);
    for (const Rank node : memory) {
      all_.memory.push_back(static_cast<std::uint32_t>(node));
      all_.shared_memories = std::max(all_.shared_memories, static_cast<std::size_t>(node) + 1);
    }
    flags_.resize(all_.shared_memories);
    links_ = links.empty() && shares_nodes(memory) ? memory : links;
    for (Rank rank = 0; rank < ranks(); ++rank) nodes_ = std::max(nodes_, link(rank) + 1);
    all_.ports = static_cast<std::size_t>(nodes_) + programs_.size();
  }
  [[nodiscard]] Rank link(Rank rank) const {
    return links_.empty() ? network_.node(rank) : links_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::uint32_t port(Rank rank, Rank peer) const {
    const Rank node = link(rank);
    return static_cast<std::uint32_t>(node == link(peer) ? nodes_ + rank : node);
  }

  [[nodiscard]] std::uint64_t pair(Rank from, Rank to) const {
    return static_cast<std::uint64_t>(from) * programs_.size() + static_cast<std::uint64_t>(to);
  }

  void match() {
    std::size_t operations = 0;
    for (Rank rank = 0; rank < ranks(); ++rank) {
      interruption_point();
      first_op_.push_back(operations);
      const auto& all = program(rank).operations;
      operations += all.size();
      for (OpIndex i = 0; i < all.size(); ++i) {
        if (all[i].kind == OpKind::send) channel(rank, all[i].peer).sends.push_back({rank, i});
        if (all[i].kind == OpKind::recv) channel(all[i].peer, rank).receives.push_back({rank, i});
      }
    }
    node_.assign(operations, kNone);
    done_.assign(operations, kNone);
    message_.assign(operations, kNone);
    turn_.assign(operations, kNone);
    for (const std::uint64_t key : order_) {
      Channel& each = channels_[key];
      if (each.sends.size() != each.receives.size()) {
        throw Error("messages of a pair", std::to_string(each.sends.size()) + " sent",
                    std::to_string(each.receives.size()) + ", as many as are received");
      }
      each.number = static_cast<std::uint32_t>(all_.reverse.size());
      all_.reverse.push_back(kNone);
      for (std::size_t k = 0; k < each.sends.size(); ++k) {
        const auto place = static_cast<std::uint32_t>(all_.messages.size());
        all_.messages.push_back({.channel = each.number, .number = static_cast<std::uint32_t>(k)});
        message_[op(each.sends[k].rank, each.sends[k].operation)] = place;
        message_[op(each.receives[k].rank, each.receives[k].operation)] = place;
      }
    }
    for (const std::uint64_t key : order_) {
      const auto other =
          channels_.find(key % programs_.size() * programs_.size() + key / programs_.size());
      if (other != channels_.end()) all_.reverse[channels_[key].number] = other->second.number;
    }
  }
  Channel& channel(Rank from, Rank to) {
    const auto [entry, is_new] = channels_.try_emplace(pair(from, to));
    if (is_new) order_.push_back(pair(from, to));
    return entry->second;
  }

  Node add(Activity kind, Rank rank, double bytes = 0, std::uint32_t place = kNone) {
    all_.kind.push_back(kind);
    all_.bytes.push_back(bytes);
    all_.rank.push_back(rank);
    all_.place.push_back(place);
    return static_cast<Node>(all_.kind.size() - 1);
  }

  [[nodiscard]] bool rendezvous(const Program& program, const Operation& op) const {
    const Count count = op.kind == OpKind::send ? op.source.count : op.target.count;
    const bool paced = program.receiver_paced && count > 0;
    return paced || count * element_bytes_ > network_.eager_limit;
  }

  [[nodiscard]] std::uint32_t flag(Rank rank, std::int32_t index) {
    auto& known = flags_[all_.memory[static_cast<std::size_t>(rank)]];
    const auto [entry, is_new] = known.try_emplace(index, static_cast<std::uint32_t>(all_.flags));
    if (is_new) ++all_.flags;
    return entry->second;
  }

  static Activity work_of(const Operation& op) {
    const bool shared = op.source.buffer == Buffer::node || op.target.buffer == Buffer::node;
    if (op.kind == OpKind::accumulate) return Activity::accumulate;
    if (op.kind == OpKind::combine) return shared ? Activity::node_combine : Activity::combine;
    return shared ? Activity::node_copy : Activity::copy;
  }

  void add_nodes(Rank rank) {
    all_.arrivals.push_back(add(Activity::arrival, rank));
    for (OpIndex i = 0; i < program(rank).operations.size(); ++i) {
      if (program(rank).operations[i].kind == OpKind::send) {
        add_message(rank, i);
        continue;
      }
      const Node node = add_node(rank, program(rank).operations[i]);
      node_[op(rank, i)] = node;
      done_[op(rank, i)] = end_of(node);
    }
    all_.exits.push_back(add(Activity::join, rank));
  }

  /// Returns the first activity of an operation that sends nothing.
  Node add_node(Rank rank, const Operation& each) {
    switch (each.kind) {
      case OpKind::arrive:
        return all_.arrivals.back();
      case OpKind::recv:  // a rendezvous needs none
        return rendezvous(program(rank), each) ? kNone : add(Activity::join, rank);
      case OpKind::signal:
        return add(Activity::increment, rank, 0, flag(rank, each.flag));
      case OpKind::await:
        all_.awaited.push_back({flag(rank, each.flag), each.count});
        return add(Activity::notice, rank, 0, static_cast<std::uint32_t>(all_.awaited.size() - 1));
      case OpKind::accumulate: {
        const std::uint32_t counted = flag(rank, each.flag);
        const Node node = add(Activity::accumulate, rank, bytes(each.source.count), counted);
        add(Activity::increment, rank, 0, counted);
        return node;
      }
      default:
        return add(work_of(each), rank, bytes(each.source.count));
    }
  }

  void add_message(Rank rank, OpIndex index) {
    const Operation& sent = program(rank).operations[index];
    Activities::Message& message = all_.messages[message_[op(rank, index)]];
    message.rendezvous = rendezvous(program(rank), sent);
    message.out = port(rank, sent.peer);
    message.in = port(sent.peer, rank);
    Moment& done = done_[op(rank, index)];
    if (message.rendezvous && network_.handshake > 0) add(Activity::handshake, rank);
    message.buffered = !message.rendezvous && network_.buffer > 0;
    if (message.buffered) done = end_of(add(Activity::sent, rank));
    const bool local = link(rank) == link(sent.peer);
    const double size = bytes(sent.source.count);
    message.node = add(local ? Activity::local_message : Activity::message, rank, size,
                       message_[op(rank, index)]);
    if (!message.buffered) done = end_of(message.node);
    add(Activity::landing, sent.peer, size);
  }

  void wait(Node node, Moment moment) { pending_.push_back({node, moment}); }

  /// Waits for earlier operations of the rank. In the foreground nothing begins before the arrival.
  void wait_for_own(Node node, Rank rank, OpIndex index) {
    const Program& mine = program(rank);
    for (const OpIndex earlier : mine.after[index]) wait(node, done_[op(rank, earlier)]);
    if (mine.after[index].empty() && mine.progress == Progress::foreground) {
      wait(node, end_of(all_.arrivals[static_cast<std::size_t>(rank)]));
    }
  }

  /// The waits of all but messages, and those of the exit: for what nothing else waits for.
  void add_waits(Rank rank) {
    interruption_point();
    const Program& mine = program(rank);
    const auto& all = mine.operations;
    const Node exit = all_.exits[static_cast<std::size_t>(rank)];
    wait(exit, end_of(all_.arrivals[static_cast<std::size_t>(rank)]));
    std::vector<bool> awaited(all.size());
    for (const auto& earlier : mine.after) {
      for (const OpIndex each : earlier) awaited[each] = true;
    }
    for (OpIndex i = 0; i < all.size(); ++i) {
      if (all[i].kind == OpKind::arrive) continue;
      if (!awaited[i]) wait(exit, done_[op(rank, i)]);
      const Node node = node_[op(rank, i)];
      if (node == kNone) continue;
      wait_for_own(node, rank, i);
      if (all[i].kind == OpKind::accumulate) wait(node + 1, end_of(node));
      if (all[i].kind == OpKind::recv) wait(node, end_of(landing(rank, i)));
    }
  }
  /// The landing of the message that an operation receives.
  [[nodiscard]] Node landing(Rank rank, OpIndex index) const {
    return all_.messages[message_[op(rank, index)]].node + 1;
  }

  /// A rendezvous is received when its message has landed. With one port, those from one peer wait
  /// for those from the peer before.
  void settle_receives(Rank rank) {
    const auto& all = program(rank).operations;
    Moment before = kNone;  // the last one of the turn before, and of this one
    Moment last = kNone;
    Rank peer = -1;
    for (OpIndex i = 0; i < all.size(); ++i) {
      if (all[i].kind != OpKind::recv || !rendezvous(program(rank), all[i])) continue;
      if (all[i].peer != peer) before = last;
      peer = all[i].peer;
      last = end_of(landing(rank, i));
      done_[op(rank, i)] = last;
      if (network_.ports == 1) turn_[op(rank, i)] = before;
    }
  }

  void add_message_waits() {
    for (const std::uint64_t key : order_) {
      const Channel& each = channels_[key];
      for (std::size_t k = 0; k < each.sends.size(); ++k) add_waits_of(each, k);
    }
  }

  void add_waits_of(const Channel& each, std::size_t k) {
    const auto [from, send] = each.sends[k];
    const auto [to, receive] = each.receives[k];
    const Activities::Message& message = all_.messages[message_[op(from, send)]];
    const bool shakes = message.rendezvous && network_.handshake > 0;
    const Node first = message.node - (shakes ? 1 : 0);
    wait_for_own(first, from, send);
    if (shakes) wait(message.node, end_of(first));
    if (message.buffered) wait_for_own(message.node - 1, from, send);
    if (k >= window_) {
      const Side& before = each.sends[k - window_];
      wait(first, done_[op(before.rank, before.operation)]);
    }
    if (!message.rendezvous) return;
    wait_for_own(first, to, receive);
    if (const Moment before = turn_[op(to, receive)]; before != kNone) wait(first, before);
  }

  void flatten() {
    all_.waits_at.assign(all_.size() + 1, 0);
    all_.followers_at.assign(2 * all_.size() + 1, 0);
    for (const auto& [node, moment] : pending_) {
      ++all_.waits_at[node + 1];
      ++all_.followers_at[moment + 1];
    }
    const auto sum = [](std::vector<std::size_t>& counts) {
      std::partial_sum(counts.begin(), counts.end(), counts.begin());
      return std::vector<std::size_t>(counts.begin(), counts.end() - 1);
    };
    std::vector<std::size_t> wait = sum(all_.waits_at);
    std::vector<std::size_t> follower = sum(all_.followers_at);
    all_.waits.resize(pending_.size());
    all_.followers.resize(pending_.size());
    for (const auto& [node, moment] : pending_) all_.waits[wait[node]++] = moment;
    for (Node node = 0; node < all_.size(); ++node) {  // ascending, as the engine posts them
      for (const Moment moment : all_.waits_of(node)) all_.followers[follower[moment]++] = node;
    }
  }

  struct Wait {
    Node node;
    Moment moment;
  };

  std::span<const Program> programs_;
  const Network& network_;
  Count element_bytes_;
  std::size_t window_ = SimulationOptions{}.engine.window;  // messages in flight of a pair
  Activities all_;
  Placement links_;
  Rank nodes_ = 0;
  std::unordered_map<std::uint64_t, Channel> channels_;
  std::vector<std::uint64_t> order_;
  std::vector<std::size_t> first_op_;   // by rank
  std::vector<Node> node_;              // by operation: its first activity, but of messages
  std::vector<Moment> done_;            // by operation
  std::vector<std::uint32_t> message_;  // by operation
  std::vector<Moment> turn_;            // by operation: the receive that it waits for, or kNone
  std::vector<std::map<std::int32_t, std::uint32_t>> flags_;
  std::vector<Wait> pending_;
};

}  // namespace

ActivityCost cost_of(Activity kind, const Network& network) {
  switch (kind) {
    case Activity::message:
      return {network.alpha, network.beta};
    case Activity::local_message:
      return {network.local_alpha, network.local_beta};
    case Activity::handshake:
      return {network.handshake, 0};
    case Activity::notice:
      return {network.local_alpha, 0};
    default:
      return {};
  }
}

Activities activities_of(std::span<const Program> programs, const Network& network,
                         Count element_bytes, const Placement& links) {
  return Builder(programs, network, element_bytes, links).build();
}

}  // namespace latecomer
