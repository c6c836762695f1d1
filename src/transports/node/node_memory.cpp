#include "transports/node/node_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "protocol/transport.hpp"
#include "schedule/program.hpp"

namespace latecomer {
namespace {

constexpr std::size_t kLeastBuffer = 65536;

std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

/// The bytes of one rank's notes.
std::size_t note_bytes(Rank ranks) {
  return rounded_up(Piggyback::kMaxBytesPerRank * static_cast<std::size_t>(ranks), 64);
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
  std::byte* const words = control_.data();
  static_cast<Words&>(*this) = {reinterpret_cast<Cell*>(words), mates_.size(), place_,
                                reinterpret_cast<Flag*>(words + parts_.flags)};
}

char* NodeMemory::notes_of(std::size_t mate) const {
  return reinterpret_cast<char*>(control_.data() + parts_.notes + mate * note_bytes_);
}

NodeRoom NodeMemory::room_for(std::int32_t flags, std::size_t bytes) {
  return {flags, bytes == 0 ? 0 : std::bit_ceil(std::max(bytes, kLeastBuffer))};
}

void* NodeMemory::reserve(std::int32_t flags, std::size_t bytes) {
  if (flags > kMaxNodeFlags) {
    throw Error("flags of a plan", std::to_string(flags),
                "at most " + std::to_string(kMaxNodeFlags));
  }
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

std::optional<Rank> NodeMemory::stranger() const {
  for (std::size_t mate = 0; mate < mates_.size(); ++mate) {
    if (is_stranger(mate)) return mates_[mate];
  }
  return std::nullopt;
}

std::vector<Rank> NodeMemory::missing() const {
  std::vector<Rank> ranks;
  for (std::size_t mate = 0; mate < mates_.size(); ++mate) {
    if (is_missing(mate)) ranks.push_back(mates_[mate]);
  }
  return ranks;
}

std::vector<Rank> NodeMemory::inside() const {
  std::vector<Rank> ranks;
  for (std::size_t mate = 0; mate < mates_.size(); ++mate) {
    if (mate != place_ && is_inside(mate)) ranks.push_back(mates_[mate]);
  }
  return ranks;
}

/// The others may read what was left before, so that only new bytes are written.
void NodeMemory::tell(std::span<const char> data) {
  const std::size_t before = told_by(place_);
  if (data.size() <= before || data.size() > note_bytes_) return;
  std::memcpy(notes_of(place_) + before, data.data() + before, data.size() - before);
  Words::tell(data.size());
}

std::size_t NodeMemory::told_by(std::size_t mate) const {
  const std::size_t bytes = Words::told_by(mate);
  return bytes <= note_bytes_ ? bytes : 0;
}

}  // namespace latecomer
