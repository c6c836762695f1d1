#include "telemetry/watch.hpp"

#include <algorithm>

#include "base/hash.hpp"

namespace latecomer {

Watch::Key Watch::key_of(const Problem& problem) {
  return fnv1a(std::string(to_string(problem.collective)) + ' ' + std::to_string(problem.bytes()));
}

std::vector<Seconds> Watch::expected(const Problem& problem) const {
  return expected(key_of(problem));
}

std::vector<Seconds> Watch::expected(Key key) const {
  const auto found = seen_.find(key);
  return found == seen_.end() ? std::vector<Seconds>{} : found->second;
}

Courier& Watch::enter(Seconds now) {
  arrived_ = now;
  stamps_.begin();
  stamps_.arrive(me_, {arrived_, elapsed_before_});
  return stamps_;
}

void Watch::leave(const Problem& problem, Seconds now) {
  elapsed_before_ = static_cast<float>(now - arrived_);
  last_.clear();
  for (const Stamp& stamp : stamps_.all()) last_.push_back(stamp.arrival);
  const Seconds earliest = *std::min_element(last_.begin(), last_.end());
  for (Seconds& arrival : last_) arrival -= earliest;
  last_key_ = key_of(problem);
  seen_[last_key_] = last_;
}

}  // namespace latecomer
