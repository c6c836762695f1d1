// A descriptor of ours that stays open between calls. A program may close it, as those do that
// close all they do not know; its next file then gets the same number.
#pragma once

#include <sys/types.h>

#include <utility>

namespace latecomer {

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

}  // namespace latecomer
