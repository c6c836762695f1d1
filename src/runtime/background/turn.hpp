// A lock between the program's threads, which wait for it, and the progress thread, which never
// does: it takes its turn only where nobody wants it.
#pragma once

#include <atomic>
#include <mutex>

namespace latecomer {

class Turn {
 public:
  /// A thread that has it may take it again: error handlers and operators may call latecomer.
  void lock() {
    ++wanted_;
    mutex_.lock();
    --wanted_;
  }
  /// Also false while another thread waits, which would otherwise starve.
  bool try_lock() { return wanted_ == 0 && mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::recursive_mutex mutex_;
  std::atomic<int> wanted_{0};
};

}  // namespace latecomer
