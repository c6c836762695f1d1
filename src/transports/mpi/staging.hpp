// Memory for messages that are not sent from or received into the call's buffers: not initialised,
// kept from call to call as far as the last calls needed it, and left to whichever communicator of
// the process makes the next call.
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
    /// MPI may still use the memory: it is never freed.
    void abandon() { (void)memory_.release(); }

   private:
    friend class Staging;
    std::unique_ptr<char[]> memory_;
    std::uint8_t shelf_ = 0;
  };

  /// Throws std::bad_alloc.
  [[nodiscard]] Block take(std::size_t bytes);
  void give_back(Block block);
  /// No block is in use. Now and then frees what has not been needed lately.
  void begin_call();
  /// The same. Other calls may have the memory.
  void end_call();

  /// Bytes of the blocks that are not in use.
  [[nodiscard]] std::size_t kept() const;
  /// The same of those that no call has.
  [[nodiscard]] static std::size_t unused();

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
