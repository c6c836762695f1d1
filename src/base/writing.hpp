// Writing to files without the signals that a failure raises: they would end the program, or call
// its handler, for something that it did not do.
#pragma once

#include <signal.h>

#include <string>
#include <string_view>

namespace latecomer {

/// While the object lives, what this thread writes beyond the limit of a file's size, or to a pipe
/// that nobody reads, fails with EFBIG or EPIPE and raises no signal.
class NoWriteSignals {
 public:
  NoWriteSignals();
  ~NoWriteSignals();
  NoWriteSignals(const NoWriteSignals&) = delete;
  NoWriteSignals& operator=(const NoWriteSignals&) = delete;

 private:
  sigset_t mask_{};     // the thread's own
  sigset_t pending_{};  // before: those are the program's
};

/// Writes all of the text. Returns the error's code; 0: none.
[[nodiscard]] int write_all(int descriptor, std::string_view text);

/// What an error's code means, in English whatever the program's locale is.
[[nodiscard]] std::string meaning_of_error(int code);

}  // namespace latecomer
