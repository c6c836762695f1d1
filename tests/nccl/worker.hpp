#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

/// A thread that carries out one piece of work after the other.
class Worker {
 public:
  Worker() : thread_([this] { run(); }) {}
  ~Worker() {
    hand({});
    thread_.join();
  }
  void hand(std::function<void()> work) {
    std::unique_lock lock(guard_);
    work_ = std::move(work);
    has_work_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !has_work_; });
  }

 private:
  void run() {
    std::unique_lock lock(guard_);
    for (bool goes_on = true; goes_on;) {
      changed_.wait(lock, [this] { return has_work_; });
      goes_on = static_cast<bool>(work_);
      if (goes_on) work_();
      has_work_ = false;
      changed_.notify_all();
    }
  }
  std::mutex guard_;
  std::condition_variable changed_;
  std::function<void()> work_;
  bool has_work_ = false;
  std::thread thread_;
};
