// Ends long work from outside, as Ctrl-C does: the work passes an interruption point every few
// milliseconds, where the check that this thread has set may throw. Without a check nothing
// happens.
#pragma once

#include <functional>

namespace latecomer {

class Interruptible {
 public:
  /// While this object lives, the interruption points of this thread call `check`.
  explicit Interruptible(std::function<void()> check) : check_(std::move(check)) {
    current_ = &check_;
  }
  ~Interruptible() { current_ = before_; }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  static void point() {
    if (current_ != nullptr) (*current_)();
  }

 private:
  static inline constinit thread_local const std::function<void()>* current_ = nullptr;

  std::function<void()> check_;
  const std::function<void()>* before_ = current_;
};

inline void interruption_point() { Interruptible::point(); }

}  // namespace latecomer
