#include "worlds/heap.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

namespace latecomer::worlds {
namespace {

/// Lies before each block. Those of a rank are in a list.
struct alignas(__STDCPP_DEFAULT_NEW_ALIGNMENT__) Head {
  Head* before;
  Head* after;
  std::size_t bytes;
  std::int32_t owner;
  std::uint32_t offset;  // of the block in what malloc() gave
};

struct Heap {
  Head list;  // its ends
  Held held;
  struct {
    std::size_t least = 0;
    int succeed = 0;
    int fail = 0;
  } next[2];  // requests of each kind
};

std::vector<Heap>& heaps() {
  static auto& all = *new std::vector<Heap>;
  return all;
}

std::size_t failed = 0;

void add(Heap& heap, Head& head) {
  head.before = &heap.list;
  head.after = heap.list.after;
  head.after->before = &head;
  heap.list.after = &head;
  ++heap.held.blocks;
  heap.held.bytes += head.bytes;
}

void* get(std::size_t bytes, std::size_t alignment) noexcept {
  const int owner = heap_owner;
  if (owner >= 0 && request_fails(owner, Resource::heap, bytes)) return nullptr;
  const std::size_t room = std::max(alignment, sizeof(Head));
  auto* const all = static_cast<char*>(
      alignment <= alignof(std::max_align_t)
          ? std::malloc(room + bytes)
          : std::aligned_alloc(alignment, (room + bytes + alignment - 1) / alignment * alignment));
  if (all == nullptr) return nullptr;
  Head& head = *new (all + room - sizeof(Head))
                   Head{nullptr, nullptr, bytes, owner, static_cast<std::uint32_t>(room)};
  if (owner >= 0) add(heaps()[owner], head);
  return all + room;
}

void* get_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const block = get(bytes, alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void give(void* block) noexcept {
  if (block == nullptr) return;
  Head& head = static_cast<Head*>(block)[-1];
  if (head.owner >= 0) {
    head.before->after = head.after;
    head.after->before = head.before;
    Held& held = heaps()[head.owner].held;
    --held.blocks;
    held.bytes -= head.bytes;
  }
  std::free(static_cast<char*>(block) - head.offset);
}

}  // namespace

int heap_owner = kNobody;

void begin_heaps(int ranks) {
  for (Heap& heap : heaps()) {
    while (heap.list.after != &heap.list) give(heap.list.after + 1);
  }
  failed = 0;
  heaps() = std::vector<Heap>(ranks);
  for (Heap& heap : heaps()) heap.list.before = heap.list.after = &heap.list;
}

const Held& held_by(int rank) { return heaps()[rank].held; }

void fail_requests(int rank, Resource kind, std::size_t least, int after, int times) {
  heaps()[rank].next[static_cast<int>(kind)] = {least, after, times};
}

bool request_fails(int rank, Resource kind, std::size_t bytes) {
  auto& [least, succeed, fail] = heaps()[rank].next[static_cast<int>(kind)];
  if (fail == 0 || bytes < least) return false;
  if (succeed > 0) {
    --succeed;
    return false;
  }
  --fail;
  ++failed;
  return true;
}

std::size_t failed_requests() { return failed; }

}  // namespace latecomer::worlds

namespace worlds = latecomer::worlds;  // NOLINT: for the functions below

constexpr std::size_t kUsual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

void* operator new(std::size_t bytes) { return worlds::get_or_throw(bytes, kUsual); }
void* operator new[](std::size_t bytes) { return worlds::get_or_throw(bytes, kUsual); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return worlds::get(bytes, kUsual);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return worlds::get(bytes, kUsual);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return worlds::get_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return worlds::get_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept { worlds::give(block); }
void operator delete[](void* block) noexcept { worlds::give(block); }
void operator delete(void* block, std::size_t) noexcept { worlds::give(block); }
void operator delete[](void* block, std::size_t) noexcept { worlds::give(block); }
void operator delete(void* block, std::align_val_t) noexcept { worlds::give(block); }
void operator delete[](void* block, std::align_val_t) noexcept { worlds::give(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { worlds::give(block); }
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept { worlds::give(block); }
