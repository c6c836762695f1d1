// The lock of a communicator's state. The program's threads wait for it; the progress thread never
// does: it takes the lock only while no other thread wants it.
#pragma once

#include <atomic>
#include <mutex>

namespace latecomer {

class CommLock {
 public:
  /// A thread that holds the lock may take it again: error handlers and operators may call
  /// latecomer.
  void lock() {
    ++wanted_;
    mutex_.lock();
    --wanted_;
    ++depth_;
  }
  /// False also while another thread waits, which would otherwise starve, and while a
  /// ReleasedCommLock lives.
  bool try_lock() {
    if (wanted_ != 0 || !mutex_.try_lock()) return false;
    ++depth_;
    if (!released_) return true;
    unlock();
    return false;
  }
  void unlock() {
    --depth_;
    mutex_.unlock();
  }

  /// Called by the thread that holds the lock when a collective call begins. No other call is under
  /// way: a thread that released the lock and did not take it back has left its call by longjmp.
  void begin_call() { released_ = false; }

 private:
  friend class ReleasedCommLock;

  std::recursive_mutex mutex_;
  std::atomic<int> wanted_{0};
  // The state of the thread that holds the lock.
  int depth_ = 0;
  bool released_ = false;
};

/// Releases a thread's lock for its lifetime, while the progress thread does not get the lock
/// either. It stands around MPI functions that may call the program's error handler: a handler may
/// leave by longjmp, and then nothing stays locked; the progress thread gets the lock again after
/// the next call.
class ReleasedCommLock {
 public:
  explicit ReleasedCommLock(CommLock& lock) : lock_(lock), depth_(lock.depth_) {
    lock_.released_ = true;
    for (int i = 0; i < depth_; ++i) lock_.unlock();
  }
  ~ReleasedCommLock() {
    for (int i = 0; i < depth_; ++i) lock_.lock();
    lock_.released_ = false;
  }
  ReleasedCommLock(const ReleasedCommLock&) = delete;
  ReleasedCommLock& operator=(const ReleasedCommLock&) = delete;

 private:
  CommLock& lock_;
  int depth_;
};

}  // namespace latecomer
