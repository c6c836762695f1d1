#include "simulate/loads.hpp"

#include <cmath>
#include <string>

#include "base/error.hpp"
#include "base/parse.hpp"

namespace latecomer {
namespace {

constexpr Seconds kLongest = 1e6;
// A longest time before the last tick, so that no sum that is compared with it wraps.
constexpr Ticks kEnd = 8'000'000'000'000'000'000;

constexpr double kRounding = 0.5;   // ticks
constexpr double kMostLeft = 4e18;  // ticks: beyond the end of the clock, which the network refuses

}  // namespace

Ticks later(Ticks time, Ticks by) {
  if (time <= kEnd - by) return time + by;
  throw Error("end of the simulated time", format_number(to_seconds(time) + to_seconds(by)) + "s",
              "8e6 seconds at most, with shorter messages or fewer of them");
}

Ticks to_ticks(std::string_view what, Seconds seconds) {
  if (std::abs(seconds) <= kLongest) return std::llround(seconds * 1e12);
  // NaN as well.
  throw Error(std::string(what), format_number(seconds) + "s",
              "a time of at most 1e6 seconds, the longest that is simulated");
}

Seconds to_seconds(Ticks ticks) { return static_cast<Seconds>(ticks) * 1e-12; }

LinkBuckets::LinkBuckets(std::int64_t nodes) {
  if (nodes < 0) throw Error("nodes", std::to_string(nodes), "none or more");
  links_.resize(static_cast<std::size_t>(nodes));
}

LinkBuckets::Link& LinkBuckets::at(std::int64_t node) {
  if (node >= 0 && static_cast<std::size_t>(node) < links_.size()) {
    return links_[static_cast<std::size_t>(node)];
  }
  throw Error("node", std::to_string(node), "one of " + std::to_string(links_.size()));
}

void LinkBuckets::pass(const Network& network, std::int64_t from, std::int64_t to, Seconds at,
                       double bytes) {
  TokenBucket& out = this->at(from).out;
  TokenBucket& in = this->at(to).in;
  if (from != to) TokenBucket::take(out, in, network, to_ticks("time of a message", at), bytes);
}

void MemoryLoad::advance(Ticks now) {
  done_ += speed() * static_cast<double>(now - at_);
  at_ = now;
}

void MemoryLoad::begin(Ticks now, Ticks own, double share, const Work& work) {
  if (idle()) {
    load_ = done_ = 0;  // and the sum of all rounding
    at_ = now;
  }
  advance(now);
  under_way_.push({done_ + static_cast<double>(own), begun_++, share, work});
  load_ += share;
  ++changes_;
}

std::vector<MemoryLoad::Work> MemoryLoad::end(Ticks now) {
  advance(now);
  std::vector<Work> ended;
  while (!idle() && under_way_.top().end <= done_ + kRounding) {
    ended.push_back(under_way_.top().work);
    load_ -= under_way_.top().share;
    under_way_.pop();
  }
  ++changes_;
  return ended;
}

Ticks MemoryLoad::next_end() const {
  const double left = std::max(0.0, under_way_.top().end - done_) / speed();
  return at_ + static_cast<Ticks>(std::min(std::ceil(left), kMostLeft));
}

}  // namespace latecomer
