#include "transports/mpi/staging.hpp"

#include <bit>

namespace latecomer {
namespace {

constexpr unsigned kLastCalls = 64;

std::unique_ptr<char[]> allocate(std::size_t bytes) {
  return std::make_unique_for_overwrite<char[]>(bytes);
}

}  // namespace

Staging::Block Staging::take(std::size_t bytes) {
  Block block;
  const auto place =
      bytes <= kSmallest ? 0 : static_cast<std::size_t>(std::bit_width((bytes - 1) / kSmallest));
  if (place >= kShelves) {
    block.shelf_ = kShelves;
    block.memory_ = allocate(bytes);
    return block;
  }
  Shelf& shelf = shelves_[place];
  block.shelf_ = static_cast<std::uint8_t>(place);
  if (shelf.free.empty()) {
    block.memory_ = allocate(kSmallest << place);
  } else {
    block.memory_ = std::move(shelf.free.back());
    shelf.free.pop_back();
  }
  if (++shelf.in_use > shelf.most_in_use) shelf.most_in_use = shelf.in_use;
  return block;
}

void Staging::give_back(Block block) {
  if (block.shelf_ == kShelves) return;
  Shelf& shelf = shelves_[block.shelf_];
  --shelf.in_use;
  if (block.memory_) shelf.free.push_back(std::move(block.memory_));
}

/// Calls differ in how many messages are under way at once, so twice the need is kept.
void Staging::begin_call() {
  if (++calls_ % kLastCalls != 0) return;
  for (Shelf& shelf : shelves_) {
    const std::size_t most = 2 * shelf.most_in_use;
    if (shelf.free.size() > most) shelf.free.resize(most);
    shelf.most_in_use = 0;
  }
}

std::size_t Staging::kept() const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < kShelves; ++i) bytes += shelves_[i].free.size() * (kSmallest << i);
  return bytes;
}

}  // namespace latecomer
