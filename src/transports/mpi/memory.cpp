#include "transports/mpi/memory.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <utility>

#include "base/threads.hpp"

namespace latecomer {
namespace {

using Memory = Scratch::Memory;

std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

Memory allocate(std::size_t bytes) {
  void* const fresh = ::operator new(bytes, std::align_val_t{Scratch::kAlignment});
  return {std::unique_ptr<std::byte, Scratch::Delete>(static_cast<std::byte*>(fresh)), bytes};
}

bool smaller(const Memory& a, const Memory& b) { return a.capacity < b.capacity; }

/// The memory that calls gave back. Concurrent calls of several threads each have memory of their
/// own.
class Store {
 public:
  /// `bytes` may be 0: a call that needs none makes the others' older.
  Memory take(std::size_t bytes) {
    const std::lock_guard lock(guard_);
    needs_[next_need_++ % needs_.size()] = bytes;
    shrink();
    if (bytes == 0) return {};
    const auto fits = [bytes](const Memory& memory) { return memory.capacity >= bytes; };
    const auto found = std::find_if(unused_.begin(), unused_.end(), fits);
    if (found != unused_.end()) return take_at(found);
    if (!unused_.empty()) take_at(std::prev(unused_.end()));  // it was too small
    const bool grows = bytes <= Scratch::kKept;  // the next call may need a little more
    return allocate_instead(rounded_up(grows ? bytes + bytes / 8 : bytes, 4096));
  }

  void give_back(Memory memory) {
    const std::lock_guard lock(guard_);
    bytes_ += memory.capacity;
    const auto place = std::upper_bound(unused_.begin(), unused_.end(), memory, smaller);
    unused_.insert(place, std::move(memory));
    shrink();
  }

  void free_unused() {
    const std::lock_guard lock(guard_);
    forget();
  }

  [[nodiscard]] std::size_t unused() const { return bytes_; }

 private:
  Memory take_at(std::vector<Memory>::iterator place) {
    Memory taken = std::move(*place);
    unused_.erase(place);
    bytes_ -= taken.capacity;
    return taken;
  }

  Memory allocate_instead(std::size_t bytes) try {
    return allocate(bytes);
  } catch (const std::bad_alloc&) {
    forget();
    return allocate(bytes);
  }

  void forget() {
    unused_.clear();
    bytes_ = 0;
  }

  /// Frees unused memory above the limit that was not needed twice in recent calls, the largest
  /// first.
  void shrink() {
    for (auto last = unused_.end(); bytes_ > Scratch::kKept && last != unused_.begin();) {
      --last;
      const auto needed = [last](std::size_t need) { return need > last->capacity / 2; };
      if (std::count_if(needs_.begin(), needs_.end(), needed) >= 2) continue;
      bytes_ -= last->capacity;
      last = unused_.erase(last);
    }
  }

  std::mutex guard_;
  std::vector<Memory> unused_;          // smallest first
  std::atomic<std::size_t> bytes_ = 0;  // of those
  std::array<std::size_t, Scratch::kRecentCalls> needs_{};
  std::size_t next_need_ = 0;
};

/// The process's store. It is not destroyed: calls may be made until the very end of the process.
Store& store() {
  static auto* const all = new Store;
  return *all;
}

constexpr unsigned kLastCalls = 64;

std::unique_ptr<char[]> raw_bytes(std::size_t bytes) {
  return std::make_unique_for_overwrite<char[]>(bytes);
}

}  // namespace

void* Scratch::reserve(const Layout& layout, MPI_Aint spacing, Count count) {
  if (count == 0) {
    // Under the limit there is nothing to free.
    if (Store& all = store(); all.unused() > kKept) (void)all.take(0);
    return nullptr;
  }
  const std::size_t needed = bytes(layout, spacing, count);
  if (needed > memory_.capacity) {
    release();
    memory_ = store().take(needed);
  }
  return memory_.bytes.get() + bytes_before(layout);
}

std::size_t Scratch::bytes(const Layout& layout, MPI_Aint spacing, Count count) {
  if (count == 0) return 0;
  const MPI_Aint after = (count - 1) * spacing + layout.true_lb + layout.true_extent;
  return bytes_before(layout) + (after > 0 ? static_cast<std::size_t>(after) : 0);
}

/// Element 0 is aligned, not the first byte of its data: fields keep their own alignment then.
std::size_t Scratch::bytes_before(const Layout& layout) {
  if (layout.true_lb >= 0) return 0;
  return rounded_up(static_cast<std::size_t>(-layout.true_lb), kAlignment);
}

void Scratch::release() {
  if (memory_.bytes) store().give_back(std::exchange(memory_, {}));
}

void Scratch::abandon() {
  (void)memory_.bytes.release();
  memory_.capacity = 0;
}

std::size_t Scratch::unused() { return store().unused(); }

void Scratch::free_unused() { store().free_unused(); }

/// Shelves that calls gave back: as many sets as calls were going on at once.
struct Staging::Store {
  std::mutex guard;
  std::vector<std::unique_ptr<Shelves>> unused;
};

Staging::Store& Staging::store() { return lasting<Store>(); }

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
