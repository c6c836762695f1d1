#include "runtime/progress/progress_thread.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "runtime/connection/clocks/clocks.hpp"
#include "transports/mpi/backoff.hpp"

namespace latecomer {
namespace {

/// Signals are for the program's own threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

ProgressThread& ProgressThread::instance() {
  static auto* const made = new ProgressThread;  // the thread may outlive static objects
  return *made;
}

void ProgressThread::add(Progressable& progressable) {
  const std::lock_guard hold(lock_);
  all_.push_back(&progressable);
  if (process_ == 0) start();
  ++changes_;
  changes_.notify_one();
}

void ProgressThread::remove(const Progressable& progressable) {
  const std::lock_guard hold(lock_);
  all_.erase(std::remove(all_.begin(), all_.end(), &progressable), all_.end());
}

void ProgressThread::stop() {
  ending_ = true;
  ++changes_;
  changes_.notify_one();
  const bool here = process_ == getpid();  // a child process has none
  if (here && thread_.joinable()) thread_.join();
}

void ProgressThread::start() {
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "latecomer");
  process_ = getpid();
}

void ProgressThread::run() {
  Backoff backoff(kThreadSleeps, Sleeping::on_shared_core);
  while (!ending_) {
    const unsigned seen = changes_;
    bool moved = false;
    bool empty = false;
    if (lock_.try_lock()) {
      empty = all_.empty();
      moved = progress_all();
      lock_.unlock();
    }
    if (empty) {
      changes_.wait(seen);
    } else {
      if (moved) backoff.progressed();
      backoff.pause(monotonic_clock());
    }
  }
}

bool ProgressThread::progress_all() {
  bool moved = false;
  for (Progressable* const progressable : all_) moved = progressable->progress() || moved;
  return moved;
}

}  // namespace latecomer
