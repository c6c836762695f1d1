#undef _FORTIFY_SOURCE  // its longjmp() goes up one stack only, never to another
#include "worlds/scheduler.hpp"

#include <cxxabi.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "worlds/heap.hpp"

namespace latecomer::worlds {
namespace {

constexpr std::size_t kStack = 256 << 10;
/// A rank may be so far ahead of others: no message is so fast that it would notice.
constexpr Time kAhead = kMicrosecond / 2;
Scheduler* current = nullptr;

/// The exceptions that a thread handles: two words (Itanium C++ ABI, section 2.2.2).
using Exceptions = std::array<char, sizeof(void*) + sizeof(unsigned int)>;

/// Stacks are used again: a process plays many worlds.
std::vector<void*>& free_stacks() {
  static std::vector<void*> all;
  return all;
}

void* new_stack() {
  auto& free = free_stacks();
  if (!free.empty()) {
    void* const stack = free.back();
    free.pop_back();
    return stack;
  }
  void* const stack = mmap(nullptr, kStack, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED) throw std::runtime_error("no memory for a stack");
  return stack;
}

}  // namespace

struct Scheduler::Main {
  jmp_buf place;
  char** environment = environ;
};

struct Scheduler::Rank {
  ucontext_t beginning{};
  bool begun = false;
  jmp_buf place;  // where it goes on
  void* stack = nullptr;
  std::function<void()> body;
  std::vector<std::string> texts;
  std::vector<char*> environment;
  std::vector<char> globals;
  Exceptions exceptions{};
  int error = 0;
  int heap_owner = kNobody;
  Time clock = 0;
  Time waits_since = -1;
  bool paused = true;
  bool ended = false;
  bool dead = false;
  bool deaf = false;  // works: nobody wakes it
  Time wakes = 0;
  std::uint64_t version = 0;
  Time offset = kSecond;
  double drift = 0;
};

Scheduler::Scheduler(int ranks, Globals& globals, std::uint64_t seed)
    : globals_(globals), random_(seed), main_(std::make_unique<Main>()) {
  for (int rank = 0; rank < ranks; ++rank) {
    ranks_.push_back(std::make_unique<Rank>());
    ranks_.back()->globals = globals.fresh();
  }
}

Scheduler::~Scheduler() {
  for (const auto& rank : ranks_) {
    if (rank->stack != nullptr) free_stacks().push_back(rank->stack);
  }
}

Scheduler* Scheduler::running() {
  return current != nullptr && current->me_ >= 0 ? current : nullptr;
}

Time Scheduler::clock(int rank) const { return ranks_[rank]->clock; }
bool Scheduler::ended(int rank) const { return ranks_[rank]->ended; }
bool Scheduler::dead(int rank) const { return ranks_[rank]->dead; }

void Scheduler::enter(unsigned low, unsigned high) {
  auto* const scheduler =
      reinterpret_cast<Scheduler*>(static_cast<std::uintptr_t>(high) << 32 | low);
  Rank& rank = *scheduler->ranks_[scheduler->me_];
  rank.body();
  rank.ended = true;
  _longjmp(scheduler->main_->place, 1);
}

// swapcontext() would ask the kernel for the signal mask each time.
void Scheduler::enter_rank(Rank& rank) {
  if (_setjmp(main_->place) != 0) return;
  if (rank.begun) _longjmp(rank.place, 1);
  rank.begun = true;
  setcontext(&rank.beginning);
}

void Scheduler::leave_rank(Rank& rank) {
  if (_setjmp(rank.place) == 0) _longjmp(main_->place, 1);
}

void Scheduler::start(int number, std::function<void()> body,
                      std::vector<std::string> environment) {
  Rank& rank = *ranks_[number];
  rank.body = std::move(body);
  rank.texts = std::move(environment);
  for (auto& text : rank.texts) rank.environment.push_back(text.data());
  rank.environment.push_back(nullptr);
  rank.stack = new_stack();
  getcontext(&rank.beginning);
  rank.beginning.uc_stack.ss_sp = rank.stack;
  rank.beginning.uc_stack.ss_size = kStack;
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&rank.beginning, reinterpret_cast<void (*)()>(enter), 2, static_cast<unsigned>(self),
              static_cast<unsigned>(self >> 32));
  push(0, number);
}

void Scheduler::set_clock(int rank, Time offset, double drift) {
  ranks_[rank]->offset = offset;
  ranks_[rank]->drift = drift;
}

Time Scheduler::shown(int number, Time at) const {
  const Rank& rank = *ranks_[number];
  return at + rank.offset + static_cast<Time>(rank.drift * static_cast<double>(at));
}

void Scheduler::push(Time at, int number) {
  const HeapOwner nobody(kNobody);
  Rank& rank = *ranks_[number];
  rank.wakes = at;
  ++rank.version;
  events_.push({at, random_(), number, rank.version, nullptr});
}

void Scheduler::call(Time at, std::function<void()> event) {
  const HeapOwner nobody(kNobody);
  events_.push({at, random_(), -1, 0, std::make_unique<std::function<void()>>(std::move(event))});
}

End Scheduler::run(Time limit) {
  current = this;
  End end = End::all;
  while (!events_.empty()) {
    Event event = std::move(const_cast<Event&>(events_.top()));  // its order is kept
    events_.pop();
    if (event.rank < 0) {
      event_time_ = event.at;
      (*event.call)();
      continue;
    }
    Rank& rank = *ranks_[event.rank];
    if (rank.ended || rank.dead || rank.version != event.version) continue;
    if (event.at > limit) {
      end = End::late;
      break;
    }
    rank.clock = std::max(rank.clock, event.at);
    resume(event.rank);
  }
  if (loaded_ >= 0) {
    globals_.save(ranks_[loaded_]->globals);
    globals_.load(globals_.fresh());
  }
  loaded_ = -1;
  current = nullptr;
  if (end == End::late) return end;
  const bool all = std::all_of(ranks_.begin(), ranks_.end(),
                               [](const auto& rank) { return rank->ended || rank->dead; });
  return all ? End::all : End::stuck;
}

void Scheduler::resume(int number) {
  Rank& rank = *ranks_[number];
  if (loaded_ != number) {
    if (loaded_ >= 0) globals_.save(ranks_[loaded_]->globals);
    globals_.load(rank.globals);
    loaded_ = number;
  }
  auto* const exceptions = abi::__cxa_get_globals();
  Exceptions outside;
  std::memcpy(outside.data(), exceptions, outside.size());
  std::memcpy(static_cast<void*>(exceptions), rank.exceptions.data(), outside.size());
  environ = rank.environment.data();
  errno = rank.error;
  heap_owner = rank.heap_owner;
  me_ = number;
  rank.paused = false;
  enter_rank(rank);
  rank.paused = true;
  me_ = -1;
  rank.error = errno;
  rank.heap_owner = std::exchange(heap_owner, kNobody);
  environ = main_->environment;
  std::memcpy(rank.exceptions.data(), exceptions, outside.size());
  std::memcpy(static_cast<void*>(exceptions), outside.data(), outside.size());
}

void Scheduler::say(const std::string_view text) {
  const HeapOwner nobody(kNobody);
  said_ += std::to_string(me_) + ": ";
  said_ += text;
}

void Scheduler::spend(Time span) {
  const HeapOwner nobody(kNobody);
  Rank& rank = *ranks_[me_];
  rank.clock += span;
  while (!events_.empty()) {
    const Event& next = events_.top();
    const bool stale = next.rank >= 0 && (ranks_[next.rank]->version != next.version ||
                                          ranks_[next.rank]->dead || ranks_[next.rank]->ended);
    if (!stale) break;
    events_.pop();
  }
  if (events_.empty() || events_.top().at + kAhead >= rank.clock) return;
  rank.deaf = true;
  pause(rank.clock);
  rank.deaf = false;
}

void Scheduler::pause(Time until) {
  Rank& rank = *ranks_[me_];
  if (until == kNever) {
    ++rank.version;
    rank.wakes = kNever;
  } else {
    push(until, me_);
  }
  leave_rank(rank);
}

void Scheduler::wake(int number, Time at) {
  Rank& rank = *ranks_[number];
  if (rank.ended || rank.dead || rank.deaf || !rank.paused || rank.wakes <= at) return;
  rank.waits_since = -1;
  push(std::max(at, rank.clock), number);
}

void Scheduler::idle(Time at_least) {
  Rank& rank = *ranks_[me_];
  if (rank.waits_since < 0) rank.waits_since = rank.clock;
  const Time grown = (rank.clock - rank.waits_since) / 4;
  pause(rank.clock + std::max({at_least, kMicrosecond, std::min(grown, kSecond)}));
}

void Scheduler::busy() { ranks_[me_]->waits_since = -1; }

void Scheduler::kill(int number) {
  Rank& rank = *ranks_[number];
  rank.dead = true;
  if (number == me_) leave_rank(rank);
}

}  // namespace latecomer::worlds
