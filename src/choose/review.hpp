// A review: the ranks compare the durations of a class's last calls.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

/// A hash of what the ranks of a communicator learned together: equal on its ranks, and different
/// for other communicators. 0: nothing was learned.
using StateHash = std::uint64_t;
inline constexpr StateHash kStateHashMask =
    (StateHash{1} << 52) - 1;  // a double holds them exactly

/// Mixes an event that all ranks know alike into the hash; the result is not 0.
inline void mix(StateHash& state_hash, std::uint64_t event) {
  constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15U;
  const std::uint64_t mixed = (state_hash ^ event) * kMix;
  state_hash = std::max<StateHash>(1, (mixed ^ mixed >> 32) & kStateHashMask);
}

/// The durations of the last calls of one kind on this rank.
class Durations {
 public:
  static constexpr std::size_t kCalls = 8;

  void add(Seconds seconds) { last_[count_++ % kCalls] = static_cast<float>(seconds); }
  void clear() { count_ = 0; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// The number of known durations.
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(std::min<std::uint64_t>(count_, kCalls));
  }
  /// The duration of an earlier call; 0 is the last one. `calls` < size().
  [[nodiscard]] Seconds ago(std::size_t calls) const {
    return last_[(count_ - 1 - calls) % kCalls];
  }

 private:
  std::array<float, kCalls> last_{};
  std::uint64_t count_ = 0;
};

/// The two kinds of durations in a review.
enum class Reviewed : std::uint8_t {
  library,  // calls of the MPI library's own collective
  decided,  // calls that were decided about, overhead included
};

/// The minimum and maximum over the ranks of the durations of a class's last calls, and the facts
/// that the ranks must know before they make CommResources. One reduction with the minimum compares
/// it all, since min(-x) is -max(x).
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

  /// `room`: true if each process may make further CommResources.
  void set_room(bool room) { values_[kRoom] = room ? 1 : 0; }
  [[nodiscard]] bool room() const { return values_[kRoom] > 0; }

  /// Offers to take over a predecessor with this state hash, 0 for none. agreed(): all ranks offer
  /// the same.
  void offer(StateHash state_hash) {
    values_[kOffer] = static_cast<double>(state_hash);
    values_[kOffer + 1] = -values_[kOffer];
  }
  [[nodiscard]] bool agreed() const {
    return values_[kOffer] > 0 && values_[kOffer] == -values_[kOffer + 1];
  }

  /// Names the network that this rank has set. same_network(): all ranks name the same.
  void set_network(std::uint64_t hash) {
    values_[kNetwork] = static_cast<double>(hash & kStateHashMask);
    values_[kNetwork + 1] = -values_[kNetwork];
  }
  [[nodiscard]] bool same_network() const { return values_[kNetwork] == -values_[kNetwork + 1]; }

  /// Merges another rank's review.
  void merge(const Review& other) {
    std::transform(values_.begin(), values_.end(), other.values_.begin(), values_.begin(),
                   [](double mine, double theirs) { return std::min(mine, theirs); });
  }
  [[nodiscard]] std::span<double> values() { return values_; }

  // A review as bytes, for messages. Bytes of another length are an empty one.
  [[nodiscard]] std::vector<char> bytes() const {
    std::vector<char> all(sizeof values_);
    std::memcpy(all.data(), values_.data(), all.size());
    return all;
  }
  [[nodiscard]] static Review of_bytes(const std::vector<char>& bytes) {
    Review one;
    if (bytes.size() == sizeof values_) {
      std::memcpy(one.values_.data(), bytes.data(), bytes.size());
    }
    return one;
  }
  static void merge_bytes(std::vector<char>& mine, const std::vector<char>& theirs) {
    Review all = of_bytes(mine);
    all.merge(of_bytes(theirs));
    mine = all.bytes();
  }

 private:
  static std::size_t place(Reviewed by, std::size_t ago) {
    return 2 * (static_cast<std::size_t>(by) * kCalls + ago);
  }

  static constexpr std::size_t kRoom = 4 * kCalls;
  static constexpr std::size_t kOffer = kRoom + 1;
  static constexpr std::size_t kNetwork = kOffer + 2;

  std::array<double, kNetwork + 2> values_{};
};

}  // namespace latecomer
