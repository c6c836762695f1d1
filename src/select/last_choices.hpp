// What was chosen for the last two calls: what a call took may be known only after the next one.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "select/selector.hpp"

namespace latecomer {

class LastChoices {
 public:
  /// By `selector`, which lives on, for the call that comes now.
  void add(Selector& selector, const Selector::Selection& selection) {
    before_ = std::exchange(last_, {&selector, selection});
  }
  /// No selector chose for the call that comes now.
  void add_none() { before_ = std::exchange(last_, {}); }

  /// What the last call and the one before took, as far as it has become known: each at most once.
  /// `arrivals`: of the last one.
  void learn(std::optional<Seconds> last, std::optional<Seconds> before,
             const std::vector<Seconds>& arrivals) const {
    learn(before_, before, {});
    learn(last_, last, arrivals);
  }

 private:
  struct Entry {
    Selector* selector = nullptr;
    Selector::Selection selection;
  };
  static void learn(const Entry& entry, std::optional<Seconds> taken,
                    const std::vector<Seconds>& arrivals) {
    if (entry.selector == nullptr || !taken) return;
    entry.selector->learn(entry.selection, *taken, arrivals);
  }

  Entry last_, before_;
};

}  // namespace latecomer
