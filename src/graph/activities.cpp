#include "graph/activities.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "base/error.hpp"
#include "base/interruption.hpp"

namespace latecomer {
namespace {

constexpr std::uint32_t kWindow = 64;  // requests in flight per peer and direction, as the engine's

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

  /// Which ranks share a link, and which share memory.
  void place_ranks(const Placement& links) {
    Placement memory;
    for (const Program& each : programs_) {
      const bool shares = each.node_count > 0 || each.flags > 0;
      memory.push_back(shares ? each.node : -1 - static_cast<Rank>(memory.size()));
    }
    memory = numbered(memory);
    for (const Rank node : memory) all_.memory.push_back(static_cast<std::uint32_t>(node));
    for (const Rank node : memory) {
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
    const Program& mine = program(rank);
    all_.arrivals.push_back(add(Activity::arrival, rank));
    for (OpIndex i = 0; i < mine.operations.size(); ++i) {
      const Operation& each = mine.operations[i];
      Moment& done = done_[op(rank, i)];
      switch (each.kind) {
        case OpKind::arrive:
          done = end_of(all_.arrivals.back());
          break;
        case OpKind::send:
          add_message(rank, i);
          break;
        case OpKind::recv:
          if (!rendezvous(mine, each)) done = end_of(add(Activity::join, rank));
          break;
        case OpKind::signal:
          done = end_of(add(Activity::increment, rank, 0, flag(rank, each.flag)));
          break;
        case OpKind::await:
          done = end_of(
              add(Activity::notice, rank, 0, static_cast<std::uint32_t>(all_.awaited.size())));
          all_.awaited.push_back({flag(rank, each.flag), each.count});
          break;
        case OpKind::accumulate: {
          const std::uint32_t counted = flag(rank, each.flag);
          done = end_of(add(Activity::accumulate, rank, bytes(each.source.count), counted));
          add(Activity::increment, rank, 0, counted);
          break;
        }
        default:
          done = end_of(add(work_of(each), rank, bytes(each.source.count)));
      }
    }
    all_.exits.push_back(add(Activity::join, rank));
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

  /// What the operation waits for in its own program. In the foreground nothing begins before the
  /// arrival.
  void wait_for_own(Node node, Rank rank, OpIndex index) {
    const Program& mine = program(rank);
    for (const OpIndex earlier : mine.after[index]) wait(node, done_[op(rank, earlier)]);
    if (mine.after[index].empty() && mine.progress == Progress::foreground) {
      wait(node, end_of(all_.arrivals[static_cast<std::size_t>(rank)]));
    }
  }

  /// The nodes of a rank follow each other as add_nodes() made them.
  void add_waits(Rank rank) {
    interruption_point();
    const Program& mine = program(rank);
    const auto& all = mine.operations;
    std::vector<bool> awaited(all.size());
    Node next = all_.arrivals[static_cast<std::size_t>(rank)] + 1;
    for (OpIndex i = 0; i < all.size(); ++i) {
      for (const OpIndex earlier : mine.after[i]) awaited[earlier] = true;
      switch (all[i].kind) {
        case OpKind::arrive:
          break;
        case OpKind::send:
          next = all_.messages[message_[op(rank, i)]].node + 2;
          break;
        case OpKind::recv:
          if (rendezvous(mine, all[i])) break;
          wait_for_own(next, rank, i);
          wait(next++, end_of(all_.messages[message_[op(rank, i)]].node + 1));
          break;
        case OpKind::accumulate:
          wait_for_own(next, rank, i);
          wait(next + 1, end_of(next));
          next += 2;
          break;
        default:
          wait_for_own(next++, rank, i);
      }
    }
    const Node exit = all_.exits[static_cast<std::size_t>(rank)];
    wait(exit, end_of(all_.arrivals[static_cast<std::size_t>(rank)]));
    for (OpIndex i = 0; i < all.size(); ++i) {
      if (!awaited[i] && all[i].kind != OpKind::arrive) wait(exit, done_[op(rank, i)]);
    }
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
      last = end_of(all_.messages[message_[op(rank, i)]].node + 1);
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
    if (k >= kWindow) {
      const Side& before = each.sends[k - kWindow];
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
  Activities all_;
  Placement links_;
  Rank nodes_ = 0;
  std::unordered_map<std::uint64_t, Channel> channels_;
  std::vector<std::uint64_t> order_;
  std::vector<std::size_t> first_op_;   // by rank
  std::vector<Moment> done_;            // by operation
  std::vector<std::uint32_t> message_;  // by operation
  std::vector<Moment> turn_;            // by operation: the receive that it waits for, or kNone
  std::vector<std::map<std::int32_t, std::uint32_t>> flags_;
  std::vector<Wait> pending_;
};

}  // namespace

ActivityCost cost_of(Activity kind, const Network& network, bool copies) {
  switch (kind) {
    case Activity::message:
      return {network.alpha, network.beta};
    case Activity::local_message:
      return {network.local_alpha, network.local_beta};
    case Activity::handshake:
      return {network.handshake, 0};
    case Activity::notice:
      return {network.local_alpha, 0};
    case Activity::combine:
      return {0, network.gamma};
    case Activity::node_copy:
      return {0, std::max(network.local_beta, network.memory)};
    case Activity::node_combine:
      return {0, std::max(network.gamma, network.memory)};
    case Activity::accumulate:
      return cost_of(copies ? Activity::node_copy : Activity::node_combine, network);
    default:
      return {};
  }
}

Activities activities_of(std::span<const Program> programs, const Network& network,
                         Count element_bytes, const Placement& links) {
  return Builder(programs, network, element_bytes, links).build();
}

}  // namespace latecomer
