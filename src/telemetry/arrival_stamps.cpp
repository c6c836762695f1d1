#include "telemetry/arrival_stamps.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace latecomer {
namespace {

struct Entry {
  std::uint32_t rank;
  float elapsed_before;
  float elapsed;
  std::array<std::uint32_t, 2> arrival;  // a double, without the gap that one would leave
};
static_assert(sizeof(Entry) <= Piggyback::kMaxBytesPerRank);

}  // namespace

void ArrivalStamps::begin() {
  heard_.assign(stamps_.size(), false);
  known_.clear();
}

void ArrivalStamps::learn(Rank rank, const ArrivalStamp& stamp) {
  const auto at = static_cast<std::size_t>(rank);
  if (heard_[at]) return;
  heard_[at] = true;
  stamps_[at] = stamp;
  known_.push_back(rank);
}

void ArrivalStamps::pack(std::vector<char>& to) {
  const std::size_t before = to.size();
  to.resize(before + known_.size() * sizeof(Entry));
  char* next = to.data() + before;
  for (const Rank rank : known_) {
    const ArrivalStamp& stamp = stamps_[static_cast<std::size_t>(rank)];
    const Entry entry{static_cast<std::uint32_t>(rank), stamp.elapsed_before, stamp.elapsed,
                      std::bit_cast<std::array<std::uint32_t, 2>>(stamp.arrival)};
    std::memcpy(next, &entry, sizeof entry);
    next += sizeof entry;
  }
}

void ArrivalStamps::unpack(const char* data, std::size_t bytes) {
  for (; bytes >= sizeof(Entry); data += sizeof(Entry), bytes -= sizeof(Entry)) {
    Entry entry{};
    std::memcpy(&entry, data, sizeof entry);
    if (entry.rank >= stamps_.size()) return;
    learn(static_cast<Rank>(entry.rank),
          {std::bit_cast<double>(entry.arrival), entry.elapsed_before, entry.elapsed});
  }
}

}  // namespace latecomer
