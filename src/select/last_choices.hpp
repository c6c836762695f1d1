// What was chosen for the last two calls: what a call took may be known only after the next one.
#pragma once

#include <optional>
#include <utility>

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
  void learn(std::optional<Seconds> last, std::optional<Seconds> before) const {
    learn(before_, before);
    learn(last_, last);
  }

 private:
  struct Entry {
    Selector* selector = nullptr;
    Selector::Selection selection;
  };
  static void learn(const Entry& entry, std::optional<Seconds> taken) {
    if (entry.selector != nullptr && taken) entry.selector->learn(entry.selection, *taken);
  }

  Entry last_, before_;
};

}  // namespace latecomer
