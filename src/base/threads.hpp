// Objects that last, threads' own and the process's, the interruption of a thread from outside, and
// work that several share.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace latecomer {

// Objects that live as long as calls may come: MPI is called by destructors of static objects and
// by functions of atexit, when static objects and thread_local ones of the main thread are gone.

/// The process's object, which is never destroyed. `Object`: a type that is used nowhere else.
template <class Object>
[[nodiscard]] Object& lasting() {
  static auto& made = *new Object;
  return made;
}

// One of each thread.

/// `Owner`: a type that is used nowhere else, so that each use has objects of its own. The main
/// thread's object stays for ever; another thread's is deleted when the thread ends, and made anew
/// if it is asked for after that.
template <class Owner, class Value>
class PerThread {
 public:
  [[nodiscard]] static Value& get() {
    if (value_ == nullptr) make();
    return *value_;
  }

 private:
  /// Not as a thread_local object with a destructor: exit() would end the main thread's.
  static void make() {
    static const std::optional<pthread_key_t> key = [] {
      pthread_key_t made{};
      return pthread_key_create(&made, end) == 0 ? std::optional(made) : std::nullopt;
    }();
    value_ = new Value;
    if (key) pthread_setspecific(*key, value_);  // without, it stays
  }
  static void end(void* value) {
    value_ = nullptr;
    delete static_cast<Value*>(value);
  }

  static inline constinit thread_local Value* value_ = nullptr;
};

// The last few values that were made from equal keys, for values that take long to make.

template <class Key, class Value>
class Kept {
 public:
  /// Returns the value of the key: a kept one, or a new one by make(key), which replaces the
  /// oldest.
  template <class Make>
  std::shared_ptr<const Value> get(const Key& key, const Make& make) {
    for (const auto& [kept, value] : values_) {
      if (kept == key) return value;
    }
    values_.emplace_front(key, std::make_shared<const Value>(make(key)));
    if (values_.size() > kMost) values_.pop_back();
    return values_.front().second;
  }

 private:
  static constexpr std::size_t kMost = 8;

  std::deque<std::pair<Key, std::shared_ptr<const Value>>> values_;
};

/// Ends long work from outside, as Ctrl-C does: the work passes an interruption point every few
/// milliseconds, where the check that this thread has set may throw. Without a check nothing
/// happens.
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

// Work that threads share.

inline constexpr std::size_t kMostThreads = 8;

/// Calls `work(begin, end)` for parts of 0 to `count`, each by a thread of its own, and returns
/// when all have ended. A part has `least` or more, so little work is done by this thread alone.
/// Rethrows what one of them throws.
template <class Work>
void in_parallel(std::size_t count, std::size_t least, Work&& work) {
  const std::size_t cores = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1,  //
                                                    kMostThreads);
  const std::size_t parts = std::clamp<std::size_t>(count / std::max<std::size_t>(least, 1), 1,  //
                                                    cores);
  std::vector<std::exception_ptr> thrown(parts);
  const auto part = [&](std::size_t which) {
    try {
      work(count * which / parts, count * (which + 1) / parts);
    } catch (...) {
      thrown[which] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t which = 1; which < parts; ++which) threads.emplace_back(part, which);
    part(0);
  }
  for (const std::exception_ptr& each : thrown) {
    if (each) std::rethrow_exception(each);
  }
}

}  // namespace latecomer
