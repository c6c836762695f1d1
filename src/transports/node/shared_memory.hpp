// Memory that processes of one machine share: a sparse file in memory. Pages must be reserved
// before they are touched, since a page that cannot be had ends the process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/files.hpp"
#include "base/types.hpp"

namespace latecomer {

/// A part of the memory in this process's addresses, until the object goes.
class Mapping {
 public:
  Mapping() = default;
  /// `owned`: unmapped with the object.
  Mapping(std::byte* at, std::size_t bytes, bool owned) : at_(at), bytes_(bytes), owned_(owned) {}
  ~Mapping();
  Mapping(Mapping&& other) noexcept { swap(other); }
  Mapping& operator=(Mapping&& other) noexcept {
    swap(other);
    return *this;
  }

  [[nodiscard]] std::byte* data() const { return at_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// Leaks the mapping, since MPI may still use it.
  void abandon() { owned_ = false; }

 private:
  void swap(Mapping& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    std::swap(owned_, other.owned_);
  }

  std::byte* at_ = nullptr;
  std::size_t bytes_ = 0;
  bool owned_ = false;
};

/// All functions throw std::system_error.
class SharedMemory {
 public:
  /// `unnamed`: other processes open it through its maker's descriptor; `named`: a file in
  /// /dev/shm, where that is not possible.
  enum class Kind { unnamed, named };

  SharedMemory() = default;
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept { swap(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept {
    swap(other);
    return *this;
  }

  /// Makes memory of so many bytes, all 0; none are reserved.
  [[nodiscard]] static SharedMemory make(Kind kind, std::size_t bytes);
  /// Opens the memory that another process, or this one, made; it must still have it.
  [[nodiscard]] static SharedMemory open(const std::string& path, std::size_t bytes);

  /// Memory that this process has mapped as a whole, for ranks that are threads: all see it at the
  /// same addresses, as tools that look for races need it.
  [[nodiscard]] static SharedMemory within(const Mapping& whole);

  /// The path that others open.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Removes the name, when all others have opened it.
  void unlink();
  /// Reserves pages for all processes that share the memory.
  void reserve(std::size_t begin, std::size_t bytes) const;
  /// `begin` is a multiple of the page size.
  [[nodiscard]] Mapping map(std::size_t begin, std::size_t bytes) const;
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] static std::size_t page();

 private:
  void swap(SharedMemory& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(bytes_, other.bytes_);
    std::swap(path_, other.path_);
    std::swap(named_, other.named_);
    std::swap(mapped_, other.mapped_);
  }

  OwnDescriptor descriptor_;
  std::size_t bytes_ = 0;
  std::string path_;
  std::byte* mapped_ = nullptr;  // by within()
  bool named_ = false;           // by this process, and not unlinked yet
};

// Sleeps until another process changes a word of memory that both share.

/// Sleeps while the word has this value, until wake_all or for at most so many seconds. May end
/// earlier.
void wait_for_change(const std::atomic<std::uint32_t>& word, std::uint32_t value, Seconds at_most);
/// Wakes all that sleep at the word.
void wake_all(const std::atomic<std::uint32_t>& word);

}  // namespace latecomer
