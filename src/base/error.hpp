// Errors name the failed subject, the offending value and a right one.
#pragma once

#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/threads.hpp"

namespace latecomer {

class Error : public std::runtime_error {
 public:
  /// Example: Error("ranks", "0", "a whole number from 1 up").
  Error(const std::string& what, const std::string& value, const std::string& remedy)
      : std::runtime_error(what + ": '" + value + "' is not usable; right would be " + remedy),
        subject_(what),
        remedy_(remedy) {}

  /// The subject and the remedy, for callers that may not show the value.
  [[nodiscard]] const std::string& subject() const { return subject_; }
  [[nodiscard]] const std::string& remedy() const { return remedy_; }

 private:
  std::string subject_;
  std::string remedy_;
};

// Work that can be left out where there is no memory for it.

/// Runs `work`. Returns false if it was left, at some place, for lack of memory.
template <class Work>
bool if_memory(Work&& work) try {
  work();
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

// The message behind latecomer_last_error(): of this thread's last error.

struct LastError;
inline void set_last_error(std::string message) {
  PerThread<LastError, std::string>::get() = std::move(message);
}
/// Keeps the message, unless there is no memory for it. Returns `code`.
inline int failed(const char* message, int code) {
  (void)if_memory([message] { set_last_error(message); });
  return code;
}
/// "" if there was none. Valid until the thread's next error.
[[nodiscard]] inline const char* last_error() {
  const char* message = "";
  (void)if_memory([&] { message = PerThread<LastError, std::string>::get().c_str(); });
  return message;
}

}  // namespace latecomer
