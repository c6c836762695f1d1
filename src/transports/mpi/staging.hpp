// Memory for messages that are not sent from or received into the call's buffers: not initialised,
// kept as far as the last calls needed it, and left to the communicator of the process that makes
// the next call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace latecomer {

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
