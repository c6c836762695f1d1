// A review: the ranks compare how long the last calls of a class took on each of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/types.hpp"

namespace latecomer {

/// Tells what one communicator's ranks learned together from what others did: alike on its ranks,
/// and unlike any other's. 0: nothing was learned.
using StateHash = std::uint64_t;
inline constexpr StateHash kStateHashMask =
    (StateHash{1} << 52) - 1;  // a double holds them exactly

/// How long the last calls of a kind took on this rank.
class Durations {
 public:
  static constexpr std::size_t kCalls = 8;

  void add(Seconds seconds) { last_[count_++ % kCalls] = static_cast<float>(seconds); }
  void clear() { count_ = 0; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// How many are known.
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(std::min<std::uint64_t>(count_, kCalls));
  }
  /// 0: of the last call. `calls` < size().
  [[nodiscard]] Seconds ago(std::size_t calls) const {
    return last_[(count_ - 1 - calls) % kCalls];
  }

 private:
  std::array<float, kCalls> last_{};
  std::uint64_t count_ = 0;
};

/// The calls of a class as a review tells them apart.
enum class Reviewed : std::uint8_t {
  library,  // what the MPI library's own collective took
  decided,  // what a call took that was decided about, all in
};

/// How long the last calls of a class took on the ranks, the least and the most of each, and what
/// else the ranks must know before they make a link. They compare it by one reduction with the
/// minimum, since least(-x) is -most(x).
class Review {
 public:
  static constexpr std::size_t kCalls = Durations::kCalls;

  /// `ago`: 0 for the last call.
  void set_call(Reviewed by, std::size_t ago, Seconds min, Seconds max) {
    values_[place(by, ago)] = min;
    values_[place(by, ago) + 1] = -max;
  }
  [[nodiscard]] Seconds min(Reviewed by, std::size_t ago) const { return values_[place(by, ago)]; }
  [[nodiscard]] Seconds max(Reviewed by, std::size_t ago) const {
    return -values_[place(by, ago) + 1];
  }

  /// True if each process may have another link.
  void set_room(bool room) { values_[kRoom] = room ? 1 : 0; }
  [[nodiscard]] bool room() const { return values_[kRoom] > 0; }

  /// The lineage of what this rank could take over, 0 for nothing. Agreed: the same on all ranks.
  void offer(StateHash state_hash) {
    values_[kOffer] = static_cast<double>(state_hash);
    values_[kOffer + 1] = -values_[kOffer];
  }
  [[nodiscard]] bool agreed() const {
    return values_[kOffer] > 0 && values_[kOffer] == -values_[kOffer + 1];
  }

  /// Another rank's.
  void merge(const Review& other) {
    std::transform(values_.begin(), values_.end(), other.values_.begin(), values_.begin(),
                   [](double mine, double theirs) { return std::min(mine, theirs); });
  }
  [[nodiscard]] std::span<double> values() { return values_; }

 private:
  static std::size_t place(Reviewed by, std::size_t ago) {
    return 2 * (static_cast<std::size_t>(by) * kCalls + ago);
  }

  static constexpr std::size_t kRoom = 4 * kCalls;
  static constexpr std::size_t kOffer = kRoom + 1;

  std::array<double, kOffer + 2> values_{};
};

}  // namespace latecomer
