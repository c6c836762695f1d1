// Memory for elements of any datatype, from a store that all communicators of the process share:
// calls take it and give it back. A call keeps as much as it asked for; what nobody uses stays for
// the next calls, but above a limit only as long as calls need it.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "transports/mpi/layout.hpp"

namespace latecomer {

class Scratch {
 public:
  /// Bytes that nobody uses and that are kept whatever calls need.
  static constexpr std::size_t kKept = std::size_t{16} << 20;
  /// So many calls without need of as much, and what is above the limit goes.
  static constexpr std::size_t kRecentCalls = 8;

  Scratch() = default;
  ~Scratch() { release(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// The address of element 0 of `count` elements that lie `spacing` bytes apart. What was stored
  /// before is lost. Throws std::bad_alloc.
  void* reserve(const Layout& layout, MPI_Aint spacing, Count count);
  /// The call is over: other calls may have the memory.
  void release();
  /// MPI may still use the memory after a failure: it is never used again, nor freed.
  void abandon();

  [[nodiscard]] std::size_t capacity() const { return memory_.capacity; }
  /// Bytes that nobody uses, of all that the process has.
  [[nodiscard]] static std::size_t unused();

  static constexpr std::size_t kAlignment = 64;
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
