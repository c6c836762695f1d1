#include "simulate/memory_load.hpp"

#include <algorithm>
#include <cmath>

namespace latecomer {
namespace {

constexpr double kRounding = 0.5;   // ticks
constexpr double kMostLeft = 4e18;  // ticks: beyond the end of the clock, which the network refuses

}  // namespace

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
