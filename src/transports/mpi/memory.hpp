// Memory that calls take from stores of the process and give back: for elements, and for messages
// that are not sent from or received into the call's buffers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "transports/mpi/layout.hpp"

namespace latecomer {

/// Memory for elements of any datatype, from a store that all communicators of the process share:
/// calls take it and give it back. A call keeps as much as it asked for; unused memory stays for
/// the next calls, but above a limit only as long as calls need it.
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

/// Memory for messages that are not sent from or received into the call's buffers: not initialised,
/// kept as far as the last calls needed it, and left to the communicator of the process that makes
/// the next call.
class Staging {
 public:
  class Block {
   public:
    [[nodiscard]] char* data() const { return memory_.get(); }
    /// Leaks the memory, since MPI may still use it.
    void abandon() { (void)memory_.release(); }

   private:
    friend class Staging;
    std::unique_ptr<char[]> memory_;
    std::uint8_t shelf_ = 0;
  };

  /// Throws std::bad_alloc.
  [[nodiscard]] Block take(std::size_t bytes);
  void give_back(Block block);
  /// Begins a call, with no block in use. Now and then frees blocks that the last calls did not
  /// need.
  void begin_call();
  /// Ends a call, with no block in use: other calls may have the memory.
  void end_call();

  /// The bytes of this object's unused blocks.
  [[nodiscard]] std::size_t kept() const;
  /// The bytes of blocks that no call has.
  [[nodiscard]] static std::size_t unused();
  /// Frees them, where no more calls are to come.
  static void free_unused();

 private:
  // Blocks of shelf i have kSmallest * 2^i bytes; longer ones than the last shelf's are not kept.
  static constexpr std::size_t kSmallest = 256;
  static constexpr std::size_t kShelves = 13;

  struct Shelf {
    std::vector<std::unique_ptr<char[]>> free;
    std::size_t in_use = 0;
    std::size_t max_in_use = 0;  // in the last calls
  };

  struct Shelves {
    std::array<Shelf, kShelves> all;
    unsigned calls = 0;

    void trim();
    [[nodiscard]] std::size_t kept() const;
  };
  struct Store;
  static Store& store();

  std::unique_ptr<Shelves> shelves_;  // null: no call is going on, or none needed any
};

}  // namespace latecomer
