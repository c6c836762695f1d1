// An object of each thread that lives as long as calls may come. MPI is called by destructors of
// static objects and by functions of atexit, when thread_local objects of the main thread are gone.
#pragma once

#include <pthread.h>

#include <optional>

namespace latecomer {

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

}  // namespace latecomer
