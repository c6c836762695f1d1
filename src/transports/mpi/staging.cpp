#include "transports/mpi/staging.hpp"

#include <bit>
#include <mutex>
#include <utility>

namespace latecomer {
namespace {

constexpr unsigned kLastCalls = 64;

std::unique_ptr<char[]> raw_bytes(std::size_t bytes) {
  return std::make_unique_for_overwrite<char[]>(bytes);
}

}  // namespace

/// Shelves that calls gave back: as many sets as calls were going on at once.
struct Staging::Store {
  std::mutex guard;
  std::vector<std::unique_ptr<Shelves>> unused;
};

Staging::Store& Staging::store() {
  static auto& made = *new Store;  // communicators may be freed after static objects
  return made;
}

Staging::Block Staging::take(std::size_t bytes) {
  Block block;
  const auto place =
      bytes <= kSmallest ? 0 : static_cast<std::size_t>(std::bit_width((bytes - 1) / kSmallest));
  if (place >= kShelves) {
    block.shelf_ = kShelves;
    block.memory_ = raw_bytes(bytes);
    return block;
  }
  if (!shelves_) shelves_ = std::make_unique<Shelves>();
  Shelf& shelf = shelves_->all[place];
  block.shelf_ = static_cast<std::uint8_t>(place);
  if (shelf.free.empty()) {
    block.memory_ = raw_bytes(kSmallest << place);
  } else {
    block.memory_ = std::move(shelf.free.back());
    shelf.free.pop_back();
  }
  if (++shelf.in_use > shelf.max_in_use) shelf.max_in_use = shelf.in_use;
  return block;
}

void Staging::give_back(Block block) {
  if (block.shelf_ == kShelves) return;
  Shelf& shelf = shelves_->all[block.shelf_];
  --shelf.in_use;
  if (block.memory_) shelf.free.push_back(std::move(block.memory_));
}

void Staging::begin_call() {
  if (!shelves_) {
    Store& from = store();
    const std::lock_guard lock(from.guard);
    if (from.unused.empty()) return;
    shelves_ = std::move(from.unused.back());
    from.unused.pop_back();
  }
  shelves_->trim();
}

void Staging::end_call() {
  if (!shelves_) return;
  Store& to = store();
  const std::lock_guard lock(to.guard);
  to.unused.push_back(std::exchange(shelves_, nullptr));
}

std::size_t Staging::kept() const { return shelves_ ? shelves_->kept() : 0; }

std::size_t Staging::unused() {
  Store& from = store();
  const std::lock_guard lock(from.guard);
  std::size_t bytes = 0;
  for (const auto& shelves : from.unused) bytes += shelves->kept();
  return bytes;
}

void Staging::free_unused() {
  Store& from = store();
  const std::lock_guard lock(from.guard);
  from.unused.clear();
}

/// Calls differ in how many messages are under way at once, so twice the need is kept.
void Staging::Shelves::trim() {
  if (++calls % kLastCalls != 0) return;
  for (Shelf& shelf : all) {
    const std::size_t max = 2 * shelf.max_in_use;
    if (shelf.free.size() > max) shelf.free.resize(max);
    shelf.max_in_use = 0;
  }
}

std::size_t Staging::Shelves::kept() const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < kShelves; ++i) bytes += all[i].free.size() * (kSmallest << i);
  return bytes;
}

}  // namespace latecomer
