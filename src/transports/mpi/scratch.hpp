// Memory for elements of any datatype, from a store that all communicators of the process share:
// calls take it and give it back. A call keeps as much as it asked for; unused memory stays for the
// next calls, but above a limit only as long as calls need it.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "transports/mpi/layout.hpp"

namespace latecomer {

class Scratch {
 public:
  /// Bytes of unused memory that are kept whatever calls need.
  static constexpr std::size_t kKept = std::size_t{16} << 20;
  /// After this many calls that need less, memory above the limit is freed.
  static constexpr std::size_t kRecentCalls = 8;

  Scratch() = default;
  ~Scratch() { release(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// Returns the address of element 0 of `count` elements that lie `spacing` bytes apart. Earlier
  /// contents are lost. Throws std::bad_alloc.
  void* reserve(const Layout& layout, MPI_Aint spacing, Count count);
  /// Gives the memory back, when the call is over.
  void release();
  /// Leaks the memory, since MPI may still use it after a failure.
  void abandon();

  [[nodiscard]] std::size_t capacity() const { return memory_.capacity; }
  /// The bytes of unused memory in this process.
  [[nodiscard]] static std::size_t unused();
  /// Frees it, where no more calls are to come.
  static void free_unused();

  static constexpr std::size_t kAlignment = 64;
  /// The bytes that `count` elements take, and those of them before element 0.
  [[nodiscard]] static std::size_t bytes(const Layout& layout, MPI_Aint spacing, Count count);
  [[nodiscard]] static std::size_t bytes_before(const Layout& layout);

  struct Delete {
    void operator()(std::byte* memory) const {
      ::operator delete(memory, std::align_val_t{kAlignment});
    }
  };
  struct Memory {
    std::unique_ptr<std::byte, Delete> bytes;
    std::size_t capacity = 0;
  };

 private:
  Memory memory_;
};

}  // namespace latecomer
