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
    ++depth_;
  }
  /// Also false while another thread waits, which would otherwise starve, and while it is given up.
  bool try_lock() {
    if (wanted_ != 0 || !mutex_.try_lock()) return false;
    ++depth_;
    if (!given_up_) return true;
    unlock();
    return false;
  }
  void unlock() {
    --depth_;
    mutex_.unlock();
  }

  /// In a collective call, by the thread that has the turn. No other one is under way: whoever gave
  /// the turn up before has left its call by longjmp.
  void begin_call() { given_up_ = false; }

 private:
  friend class TurnGivenUp;

  std::recursive_mutex mutex_;
  std::atomic<int> wanted_{0};
  // Of the thread that has it.
  int depth_ = 0;
  bool given_up_ = false;
};

/// While it lives, the thread that had the turn does not have it, nor does the progress thread get
/// it: around MPI functions that may call the program's error handler. That may leave by longjmp,
/// and then nothing stays locked; the progress thread gets its turn after the next call.
class TurnGivenUp {
 public:
  explicit TurnGivenUp(Turn& turn) : turn_(turn), depth_(turn.depth_) {
    turn_.given_up_ = true;
    for (int i = 0; i < depth_; ++i) turn_.unlock();
  }
  ~TurnGivenUp() {
    for (int i = 0; i < depth_; ++i) turn_.lock();
    turn_.given_up_ = false;
  }
  TurnGivenUp(const TurnGivenUp&) = delete;
  TurnGivenUp& operator=(const TurnGivenUp&) = delete;

 private:
  Turn& turn_;
  int depth_;
};

}  // namespace latecomer
