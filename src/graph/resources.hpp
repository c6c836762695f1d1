// The resources that serve activities, first come, first served.
#pragma once

#include <deque>
#include <queue>
#include <utility>
#include <vector>

#include "graph/activities.hpp"
#include "simulate/loads.hpp"

namespace latecomer::resources {

/// A port of a node or a rank, through which messages leave and come.
struct Port {
  Count leaving = 0;
  std::deque<Node> waiting;
  std::vector<std::pair<Ticks, Moment>> free;  // of each lane: from when on, and by what
  std::deque<Moment> left;                     // the last ones, which freed a lane
  TokenBucket out;
  TokenBucket in;
};

/// The messages from one rank to another.
struct Channel {
  std::uint32_t posted = 0;
  std::vector<Node> early;  // ready before those in front of them
  Moment last = kNone;
  bool leaving = false;
  Count rendezvous = 0;  // waiting or leaving
  double buffered = 0;   // bytes that have not left
};

/// The combines and copies of a rank, one at a time.
struct Worker {
  bool busy = false;
  std::priority_queue<Node, std::vector<Node>, std::greater<>> ready;
  std::vector<Node> refused;  // accumulates whose flag was held
  Moment last = kNone;
};

/// A flag of a node, which counts, and the accumulates that hold it one at a time.
struct Flag {
  bool held = false;
  std::deque<Node> queue;       // accumulates of ranks that have nothing else to do
  std::vector<Moment> counted;  // the ends of its increments
  Moment accumulated = kNone;   // the last one
  std::vector<Node> awaiting;   // notices
};

}  // namespace latecomer::resources
