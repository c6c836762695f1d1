// The resources that serve activities, first come, first served.
#pragma once

#include <deque>
#include <queue>
#include <vector>

#include "graph/activities.hpp"
#include "simulate/loads.hpp"

namespace latecomer::resources {

/// A port of a node or a rank, through which messages leave and come.
struct Port {
  Count leaving = 0;
  std::deque<Node> waiting;
  std::vector<Ticks> free;  // when each of Network::ports can take in the next message
  TokenBucket out;
  TokenBucket in;
};

/// The messages from one rank to another.
struct Channel {
  std::uint32_t posted = 0;
  std::vector<Node> early;  // ready before those in front of them
  bool leaving = false;
  Count rendezvous = 0;  // waiting or leaving
  double buffered = 0;   // bytes that have not left
};

/// The combines and copies of a rank, one at a time.
struct Worker {
  bool busy = false;
  std::priority_queue<Node, std::vector<Node>, std::greater<>> ready;
  std::vector<Node> refused;  // accumulates whose flag was held
};

/// A flag of a node, which counts, and the accumulates that hold it one at a time.
struct Flag {
  bool held = false;
  bool accumulated = false;    // one has begun
  Rank counted = 0;            // its increments
  std::deque<Node> queue;      // accumulates of ranks that have nothing else to do
  std::vector<Node> awaiting;  // notices
};

}  // namespace latecomer::resources
