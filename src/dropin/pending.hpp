// Operations that the program has begun and not completed: messages by the handles of their
// requests, and matched messages by theirs. Bounded, and used by all threads.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <vector>

#include "trace/records.hpp"

namespace latecomer::messages {

/// A handle of MPI's as a number.
template <class Handle>
[[nodiscard]] std::uint64_t key_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return static_cast<std::uint64_t>(handle);
  }
}

/// The variable of the program's that holds a handle.
template <class Handle>
[[nodiscard]] const void* place_of(const Handle* variable) {
  return static_cast<const void*>(variable);
}

/// A collective that completes by a request.
struct Begun {
  const char* collective = nullptr;      // null: it is a message
  std::shared_ptr<std::uint64_t> calls;  // on its communicator
  std::uint64_t sequence = 0;
  const void* site = nullptr;

  /// It has begun now: ranks begin those of a communicator in the same order.
  void begin(const void* where) {
    sequence = (*calls)++;
    site = where;
  }
};

struct Pending {
  std::uint64_t key = 0;
  const void* place = nullptr;  // of the program's variable that got the handle
  trace::Message record;
  Begun begun;
  bool silent = false;     // not to be recorded: it is here since others may have its handle
  bool active = true;      // false: persistent, and not started
  bool cancelled = false;  // the program asked for that
  std::uint32_t next = 0;

  [[nodiscard]] bool is_persistent() const { return (record.flags & trace::Way::persistent) != 0; }
};

/// MPI libraries give one handle to many requests that were complete at once. Of those the one is
/// meant whose handle the program got in the same variable, else the oldest.
class PendingTable {
 public:
  /// Returns false if there is no room.
  bool add(const Pending& fresh);
  /// Takes out what this handle completes, once it is complete. Persistent ones stay, inactive.
  [[nodiscard]] std::optional<Pending> complete(std::uint64_t key, const void* place);
  /// Takes out what this handle stands for.
  [[nodiscard]] std::optional<Pending> erase(std::uint64_t key, const void* place);
  /// Changes what this handle stands for by `change`. Returns false if there is none.
  template <class Change>
  bool change(std::uint64_t key, const void* place, Change&& change) {
    const std::lock_guard hold(guard_);
    const Link found = find(key, place);
    if (found.at == kNone) return false;
    change(pool_[found.at]);
    return true;
  }
  /// Calls `use` with each.
  template <class Use>
  void for_each(Use&& use) {
    const std::lock_guard hold(guard_);
    for (const Chain& chain : chains_) {
      for (std::uint32_t at = chain.first; at != kNone; at = pool_[at].next) use(pool_[at]);
    }
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::uint32_t kMost = 1 << 20;
  static constexpr int kAlike = 32;  // of one handle: so many are looked at

  struct Chain {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
  };
  struct Link {
    std::uint32_t at = kNone;
    std::uint32_t before = kNone;  // in its chain
  };
  [[nodiscard]] Chain& chain_of(std::uint64_t key);
  [[nodiscard]] Link find(std::uint64_t key, const void* place);
  [[nodiscard]] std::uint32_t free_place();
  void append(std::uint32_t at);
  void grow();
  Pending take(Link link);

  std::mutex guard_;
  std::vector<Chain> chains_;  // as many as a power of two; none before the first entry
  std::vector<Pending> pool_;
  std::uint32_t free_ = kNone;  // the first free place of the pool
  std::uint32_t used_ = 0;
};

}  // namespace latecomer::messages
