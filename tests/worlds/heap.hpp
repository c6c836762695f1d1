// The memory that each simulated rank gets by operator new: what it holds, and requests that fail.
//
// A request of operator new belongs to a rank while a `HeapOwner` of that rank lives, and to nobody
// otherwise.
#pragma once

#include <cstddef>

namespace latecomer::worlds {

inline constexpr int kNobody = -1;

/// Whose requests are made now. Kept for each rank when ranks change, as errno is.
extern int heap_owner;

class HeapOwner {
 public:
  explicit HeapOwner(int rank) : before_(heap_owner) { heap_owner = rank; }
  ~HeapOwner() { heap_owner = before_; }
  HeapOwner(const HeapOwner&) = delete;
  HeapOwner& operator=(const HeapOwner&) = delete;

 private:
  int before_;
};

/// The memory that a rank holds.
struct Held {
  std::size_t blocks = 0;
  std::size_t bytes = 0;
};

/// Forgets the ranks of the world before, and frees what they hold.
void begin_heaps(int ranks);
const Held& held_by(int rank);

/// The kinds of requests: memory by operator new, or by system calls, for a node.
enum class Resource { heap, node };

/// The rank's next `after` requests of this kind for at least `least` bytes succeed, and
/// then `times` fail.
void fail_requests(int rank, Resource kind, std::size_t least, int after, int times);
/// Counts a request; it must fail.
bool request_fails(int rank, Resource kind, std::size_t bytes);
/// The requests that have failed since begin_heaps().
std::size_t failed_requests();

}  // namespace latecomer::worlds
