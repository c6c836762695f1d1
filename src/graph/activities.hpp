// The programs of all ranks as a graph: an activity waits for moments of others, then takes its
// time. It is made once; arrivals and costs come later.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "base/network.hpp"
#include "schedule/program.hpp"

namespace latecomer {

using Node = std::uint32_t;
/// The begin of an activity, 2 x node, or its end, 2 x node + 1.
using Moment = std::uint32_t;
[[nodiscard]] constexpr Moment begin_of(Node node) { return 2 * node; }
[[nodiscard]] constexpr Moment end_of(Node node) { return 2 * node + 1; }
inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

enum class Activity : std::uint8_t {
  arrival,
  join,           // takes no time: several moments become one
  message,        // between nodes: occupies its sender's port
  local_message,  // within a node: likewise
  landing,        // occupies the receiver's port; the node after its message, and as long
  sent,           // where there is a buffer, the node before an eager message: its sender goes on
  handshake,
  increment,  // of a flag
  notice,     // of an await: that its flag has counted so far
  copy,       // within a rank's own memory: takes no time, but one at a time
  combine,
  node_combine,  // here and below: on the memory of a node
  node_copy,
  accumulate,  // the first one on a flag is a copy
};

struct Activities {
  struct Message {
    Node node = 0;
    std::uint32_t channel = 0;
    std::uint32_t number = 0;  // in its channel
    std::uint32_t out = 0;     // ports
    std::uint32_t in = 0;
    bool rendezvous = false;
    bool buffered = false;  // if there is room
  };
  /// A wait until a flag has counted so far.
  struct Awaited {
    std::uint32_t flag = 0;
    Rank count = 0;
  };

  std::size_t ports = 0;  // of the nodes, then of the ranks
  std::size_t flags = 0;
  std::size_t shared_memories = 0;
  std::vector<std::uint32_t> reverse;  // of each channel: that of the other direction, or kNone
  std::vector<Message> messages;
  std::vector<Awaited> awaited;
  std::vector<Node> arrivals;  // by rank
  std::vector<Node> exits;
  std::vector<std::uint32_t> memory;  // by rank: the node whose memory it shares

  // By node. Those of a rank are in the order of its program.
  std::vector<Activity> kind;
  std::vector<double> bytes;
  std::vector<Rank> rank;             // of a message: its sender
  std::vector<std::uint32_t> place;   // in `messages`; of a notice in `awaited`; else the flag
  std::vector<std::size_t> waits_at;  // of node i: waits[waits_at[i]] to waits[waits_at[i + 1]]
  std::vector<Moment> waits;
  std::vector<std::size_t> followers_at;  // by moment, likewise: who waits for it
  std::vector<Node> followers;

  [[nodiscard]] std::size_t size() const { return kind.size(); }
  [[nodiscard]] std::span<const Moment> waits_of(Node node) const {
    return {waits.data() + waits_at[node], waits_at[node + 1] - waits_at[node]};
  }
  [[nodiscard]] std::span<const Node> followers_of(Moment moment) const {
    return {followers.data() + followers_at[moment],
            followers_at[moment + 1] - followers_at[moment]};
  }
};

/// A start-up, and a time for each byte.
struct ActivityCost {
  Seconds startup = 0;
  Seconds per_byte = 0;
};
/// The cost of a message, a handshake or a notice; nothing for others.
[[nodiscard]] ActivityCost cost_of(Activity kind, const Network& network);

/// The activities of the programs of all ranks, by rank. They depend on the network's eager limit,
/// buffer, ports and nodes, and on whether it has a handshake. `links`: the node of each rank,
/// whose link it shares; empty: that of the programs or, if none share memory, Network::per_node
/// ranks. Throws Error where a message has no other side.
[[nodiscard]] Activities activities_of(std::span<const Program> programs, const Network& network,
                                       Count element_bytes, const Placement& links = {});

/// Lets ports, memory and flags serve the activities, first come, first served, as on the virtual
/// network without jitter. Returns the exits in seconds, by rank; infinity: never. `arrivals`:
/// likewise, from 0 up.
[[nodiscard]] std::vector<Seconds> serve(const Activities& all, std::span<const Seconds> arrivals,
                                         const Network& network);

}  // namespace latecomer
