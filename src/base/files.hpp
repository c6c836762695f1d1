// Files: names from patterns of users, descriptors of ours, and writing without signals.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/types.hpp"

namespace latecomer {

// Names of files that users give as patterns.

/// Expands a pattern: %r is the rank, %p the process id and %j the job's id by PMIx, Slurm, PBS or
/// LSF, else the id of the parent process. `variable`: what the environment has.
[[nodiscard]] std::string expanded(const std::string& pattern, Rank rank,
                                   std::optional<std::string> (*variable)(const char* name));

// A descriptor of ours that stays open between calls. A program may close it, as those do that
// close all they do not know; its next file then gets the same number.

/// The file behind a descriptor.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool open = false;

  [[nodiscard]] static FileIdentity of(int descriptor);
  bool operator==(const FileIdentity&) const = default;
};

class OwnDescriptor {
 public:
  OwnDescriptor() = default;
  /// Owns the descriptor; a negative one is none. Keeps errno.
  explicit OwnDescriptor(int number);
  /// Closes it if it is still ours.
  ~OwnDescriptor();
  OwnDescriptor(OwnDescriptor&& other) noexcept { swap(other); }
  OwnDescriptor& operator=(OwnDescriptor&& other) noexcept {
    swap(other);
    return *this;
  }

  /// The number, for a use at once. Negative: there was none, or it is not ours any more (EBADF in
  /// errno).
  [[nodiscard]] int get() const;

 private:
  void swap(OwnDescriptor& other) noexcept {
    std::swap(number_, other.number_);
    std::swap(file_, other.file_);
  }

  int number_ = -1;
  FileIdentity file_;
};

// Writing to files without the signals that a failure raises: they would end the program, or call
// its handler, for something that it did not do.

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

/// Makes sure that there is room for a part of a file. Signals wait until then: some kernels undo
/// all that was done at each. Returns the error's code; 0: none.
[[nodiscard]] int reserve_room(int descriptor, std::uint64_t begin, std::uint64_t bytes);

/// Reads so many bytes from a place on. Returns the error's code, 0: none; EIO where the file ends.
[[nodiscard]] int read_all(int descriptor, std::uint64_t from, void* into, std::size_t bytes);

/// Writes all of the text. Returns the error's code; 0: none.
[[nodiscard]] int write_all(int descriptor, std::string_view text);

/// The meaning of an error's code, in English whatever the program's locale is.
[[nodiscard]] std::string meaning_of_error(int code);

}  // namespace latecomer
