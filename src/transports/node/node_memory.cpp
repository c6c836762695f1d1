#include "transports/node/node_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "protocol/piggyback.hpp"
#include "schedule/program.hpp"
#include "transports/node/sleepers.hpp"

namespace latecomer {
namespace {

constexpr std::uint64_t kTurn = std::uint64_t{1} << 31;
constexpr std::uint64_t kCount = kTurn - 1;
constexpr std::size_t kLeastBuffer = 65536;

std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

std::uint64_t named(std::uint32_t call, std::uint64_t low) {
  return std::uint64_t{call} << 32 | low;
}

std::uint32_t call_of(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }

/// The bytes of one rank's notes.
std::size_t note_bytes(Rank ranks) {
  return rounded_up(Piggyback::kMaxBytesPerRank * static_cast<std::size_t>(ranks), 64);
}

std::uint64_t signature_of(std::uint64_t number, std::size_t mate) {
  return (number + mate + 1) * 0x9e3779b97f4a7c15U;
}

}  // namespace

std::size_t NodeMemory::bytes(std::size_t mates, Rank ranks) {
  return Parts(mates, ranks).buffer + kMaxBytes;
}

NodeMemory::Parts::Parts(std::size_t mates, Rank ranks)
    : notes(mates * sizeof(Cell)),
      flags(notes + mates * note_bytes(ranks)),
      buffer(rounded_up(flags + kMaxNodeFlags * sizeof(Flag), SharedMemory::page())) {}

NodeMemory::NodeMemory(SharedMemory memory, std::vector<Rank> mates, Rank me, Rank ranks)
    : memory_(std::move(memory)),
      mates_(std::move(mates)),
      parts_(mates_.size(), ranks),
      note_bytes_(note_bytes(ranks)) {
  place_ = static_cast<std::size_t>(std::find(mates_.begin(), mates_.end(), me) - mates_.begin());
  memory_.reserve(0, parts_.flags);
  control_ = memory_.map(0, parts_.buffer);
}

std::unique_ptr<NodeMemory> NodeMemory::alone(Rank me, Rank ranks) {
  return std::make_unique<NodeMemory>(
      SharedMemory::make(SharedMemory::Kind::unnamed, bytes(1, ranks)), std::vector<Rank>{me}, me,
      ranks);
}

NodeMemory::Cell& NodeMemory::cell(std::size_t mate) const {
  return reinterpret_cast<Cell*>(control_.data())[mate];
}

NodeMemory::Flag& NodeMemory::flag(std::int32_t index) const {
  return reinterpret_cast<Flag*>(control_.data() + parts_.flags)[index];
}

char* NodeMemory::notes_of(std::size_t mate) const {
  return reinterpret_cast<char*>(control_.data() + parts_.notes + mate * note_bytes_);
}

void NodeMemory::sign(std::uint64_t number) {
  cell(place_).signature = signature_of(number, place_);
}

bool NodeMemory::all_signed(std::uint64_t number) const {
  for (std::size_t mate = 0; mate < mates_.size(); ++mate) {
    if (cell(mate).signature != signature_of(number, mate)) return false;
  }
  return true;
}

NodeRoom NodeMemory::room_for(std::int32_t flags, std::size_t bytes) {
  return {flags, bytes == 0 ? 0 : std::bit_ceil(std::max(bytes, kLeastBuffer))};
}

void* NodeMemory::reserve(std::int32_t flags, std::size_t bytes) {
  if (flags > reserved_flags_) {
    memory_.reserve(parts_.flags, static_cast<std::size_t>(flags) * sizeof(Flag));
    reserved_flags_ = flags;
  }
  if (bytes > buffer_.bytes()) {
    const std::size_t room = room_for(flags, bytes).bytes;
    memory_.reserve(parts_.buffer, room);
    buffer_ = memory_.map(parts_.buffer, room);
  }
  return buffer_.data();
}

void NodeMemory::abandon() {
  control_.abandon();
  buffer_.abandon();
}

void NodeMemory::enter(std::uint64_t plan_hash) {
  ++call_;
  plan_ = static_cast<std::uint32_t>(plan_hash ^ plan_hash >> 32);
  gone_ = 0;
  // Of two ranks that enter at the same time at least one sees the other (open, is_stranger).
  cell(place_).entered.store(named(call_, plan_), std::memory_order_seq_cst);
}

bool NodeMemory::open() {
  const std::uint32_t before = call_ - 1;
  for (; gone_ < mates_.size(); ++gone_) {
    const std::uint32_t left = call_of(cell(gone_).left.load(std::memory_order_acquire));
    if (static_cast<std::int32_t>(left - before) < 0) return false;
  }
  return true;
}

void NodeMemory::leave() { cell(place_).left.store(named(call_, 0), std::memory_order_release); }

bool NodeMemory::is_stranger(std::size_t mate) const {
  const std::uint64_t entered = cell(mate).entered.load(std::memory_order_seq_cst);
  return call_of(entered) == call_ && entered != named(call_, plan_);
}

std::optional<Rank> NodeMemory::stranger() const {
  for (std::size_t mate = 0; mate < mates_.size(); ++mate) {
    if (is_stranger(mate)) return mates_[mate];
  }
  return std::nullopt;
}

std::vector<Rank> NodeMemory::missing() const {
  std::vector<Rank> ranks;
  for (std::size_t mate = 0; mate < mates_.size(); ++mate) {
    const std::uint32_t entered = call_of(cell(mate).entered.load(std::memory_order_relaxed));
    if (static_cast<std::int32_t>(entered - call_) < 0) ranks.push_back(mates_[mate]);
  }
  return ranks;
}

/// The count and the turn of a flag in this call.
std::uint64_t NodeMemory::count_of(std::uint64_t word) const {
  return call_of(word) == call_ ? word & (kTurn | kCount) : 0;
}

void NodeMemory::signal(std::int32_t index) {
  Flag& counted = flag(index);
  std::uint64_t found = counted.word.load(std::memory_order_relaxed);
  while (!counted.word.compare_exchange_weak(found, named(call_, count_of(found) + 1),
                                             std::memory_order_seq_cst,
                                             std::memory_order_relaxed)) {
  }
  wake(counted, count_of(found) + 1);
}

/// Wakes the ranks that sleep until the flag has counted so far. Of a rank that goes to sleep and
/// one that counts at least one sees what the other wrote.
void NodeMemory::wake(Flag& counted, std::uint64_t count) {
  const std::uint32_t awaited = counted.awaited.load(std::memory_order_seq_cst);
  if (awaited == 0 || (count & kCount) < awaited) return;
  counted.awaited.store(0, std::memory_order_relaxed);
  counted.woken.fetch_add(1, std::memory_order_seq_cst);
  wake_all(counted.woken);
}

void NodeMemory::sleep_until(std::int32_t index, Rank count, Seconds at_most) {
  Flag& counted = flag(index);
  const std::uint32_t woken = counted.woken.load(std::memory_order_seq_cst);
  counted.awaited.store(static_cast<std::uint32_t>(count), std::memory_order_seq_cst);
  if (!reached(index, count)) wait_for_change(counted.woken, woken, at_most);
}

bool NodeMemory::reached(std::int32_t index, Rank count) const {
  const std::uint64_t found = count_of(flag(index).word.load(std::memory_order_seq_cst));
  return (found & kCount) >= static_cast<std::uint64_t>(count);
}

NodeMemory::Turn NodeMemory::take_turn(std::int32_t index) {
  std::atomic<std::uint64_t>& word = flag(index).word;
  std::uint64_t found = word.load(std::memory_order_relaxed);
  do {
    if ((count_of(found) & kTurn) != 0) return Turn::busy;
  } while (!word.compare_exchange_weak(found, named(call_, count_of(found) | kTurn),
                                       std::memory_order_acquire, std::memory_order_relaxed));
  return count_of(found) == 0 ? Turn::first : Turn::later;
}

void NodeMemory::end_turn(std::int32_t index) {
  Flag& counted = flag(index);
  const std::uint64_t before = counted.word.fetch_add(1 - kTurn, std::memory_order_seq_cst);
  wake(counted, before + 1);
}

/// The others may read what was left before, so that only new bytes are written.
void NodeMemory::tell(std::span<const char> data) {
  const std::size_t before = told_by(place_);
  if (data.size() <= before || data.size() > note_bytes_) return;
  std::memcpy(notes_of(place_) + before, data.data() + before, data.size() - before);
  cell(place_).told.store(named(call_, data.size()), std::memory_order_release);
}

std::size_t NodeMemory::told_by(std::size_t mate) const {
  const std::uint64_t told = cell(mate).told.load(std::memory_order_acquire);
  const std::size_t bytes = told & 0xffffffffU;
  return call_of(told) == call_ && bytes <= note_bytes_ ? bytes : 0;
}

}  // namespace latecomer
