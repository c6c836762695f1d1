#include "allocations.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

thread_local std::size_t made = 0;
std::atomic<std::size_t> in_use{0};

constexpr std::size_t kNever = ~std::size_t{0};
thread_local std::size_t failing = kNever;
thread_local std::size_t watched = kNever;
thread_local void (*before_free)() = nullptr;

void* allocate(std::size_t bytes, std::size_t alignment) {
  ++made;
  if (bytes >= failing) {
    failing = kNever;
    throw std::bad_alloc();
  }
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes) != 0) throw std::bad_alloc();
  in_use += malloc_usable_size(memory);
  return memory;
}

void give_back(void* memory) {
  const std::size_t bytes = malloc_usable_size(memory);
  if (memory != nullptr && bytes >= watched && before_free != nullptr) before_free();
  in_use -= bytes;
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }

namespace latecomer::testing {

std::size_t allocations() { return made; }
std::size_t bytes_in_use() { return in_use; }
void fail_request(std::size_t least) { failing = least; }
void watch_frees(std::size_t least, void (*then)()) {
  watched = least;
  before_free = then;
}

}  // namespace latecomer::testing
