// The collectives and messages of a communicator that the device has not finished, and handles that
// name them. Several threads tell of one at a time: channels are counted without a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <variant>

#include "trace/records.hpp"

namespace latecomer::nccl {

/// The handle that NCCL gets for an event and gives back: no address, since it may come back when
/// the event is long forgotten.
struct Handle {
  enum Kind : std::uint64_t { none, kernel, operation, channel };

  static constexpr unsigned kNumberBits = 40;
  static constexpr unsigned kSlotBits = 14;
  static constexpr unsigned kChannelBits = 8;

  Kind kind = none;
  std::uint64_t slot = 0;    // of the communicator
  std::uint64_t part = 0;    // the channel
  std::uint64_t number = 0;  // of the operation, or of the kernel

  [[nodiscard]] void* pack() const {
    const std::uint64_t bits = (((kind << kSlotBits | slot) << kChannelBits) | part)
                                   << kNumberBits |
                               (number & ((std::uint64_t{1} << kNumberBits) - 1));
    return reinterpret_cast<void*>(bits);  // NOLINT(performance-no-int-to-ptr): NCCL keeps it
  }
  [[nodiscard]] static Handle unpack(const void* packed) {
    auto bits = reinterpret_cast<std::uint64_t>(packed);
    const auto take = [&bits](unsigned count) {
      const std::uint64_t field = bits & ((std::uint64_t{1} << count) - 1);
      bits >>= count;
      return field;
    };
    Handle found;
    found.number = take(kNumberBits);
    found.part = take(kChannelBits);
    found.slot = take(kSlotBits);
    found.kind = static_cast<Kind>(bits);
    return found;
  }
};
static_assert(sizeof(void*) == sizeof(std::uint64_t));

/// An operation as it is handed to the device: its record lacks the times.
struct About {
  std::uint8_t channels = 0;  // 0: not known
  std::uint64_t kernel = 0;   // that carries it out, from 1 on; 0: not known
  std::variant<trace::Call, trace::Message> record;
};

class Operation {
 public:
  static constexpr std::size_t kMostChannels = 256;

  /// `number` is its number in the communicator.
  void begin(std::uint64_t number, const About& about) {
    about_ = about;
    begin_.store(std::numeric_limits<std::int64_t>::max(), std::memory_order_relaxed);
    end_.store(std::numeric_limits<std::int64_t>::min(), std::memory_order_relaxed);
    for (auto& word : stopped_) word.store(0, std::memory_order_relaxed);
    // One that does not say how many it has is never complete by them.
    left_.store(about.channels != 0 ? about.channels : kMostChannels + 1,
                std::memory_order_relaxed);
    has_begun_.store(false, std::memory_order_relaxed);
    is_complete_.store(false, std::memory_order_relaxed);
    name_.store(number + 1, std::memory_order_release);
  }
  [[nodiscard]] bool is(std::uint64_t number) const {
    return name_.load(std::memory_order_acquire) == number + 1;
  }
  void forget() { name_.store(0, std::memory_order_release); }

  /// A channel has begun. True for the first one.
  bool start(std::int64_t time) {
    std::int64_t known = begin_.load(std::memory_order_relaxed);
    while (time < known && !begin_.compare_exchange_weak(known, time, std::memory_order_relaxed)) {
    }
    return !has_begun_.load(std::memory_order_relaxed) &&
           !has_begun_.exchange(true, std::memory_order_relaxed);
  }
  [[nodiscard]] bool has_stopped(std::uint64_t channel) const {
    return (stopped_[channel / 64].load(std::memory_order_relaxed) >> (channel % 64) & 1) != 0;
  }
  /// A channel is done. True for the last one.
  bool stop(std::uint64_t channel, std::int64_t time) {
    std::int64_t known = end_.load(std::memory_order_relaxed);
    while (time > known && !end_.compare_exchange_weak(known, time, std::memory_order_relaxed)) {
    }
    const std::uint64_t bit = std::uint64_t{1} << (channel % 64);
    const bool fresh = (stopped_[channel / 64].fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
    return fresh && left_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  [[nodiscard]] const About& about() const { return about_; }
  [[nodiscard]] bool has_begun() const { return has_begun_.load(std::memory_order_relaxed); }
  /// True if a begin and an end are known, if not those of all channels.
  [[nodiscard]] bool has_times() const {
    return has_begun() &&
           end_.load(std::memory_order_relaxed) != std::numeric_limits<std::int64_t>::min();
  }
  [[nodiscard]] std::int64_t begin() const { return begin_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t end() const { return end_.load(std::memory_order_relaxed); }

  [[nodiscard]] bool is_complete() const { return is_complete_.load(std::memory_order_relaxed); }
  void complete() { is_complete_.store(true, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> name_{0};
  std::atomic<std::int64_t> begin_{0};
  std::atomic<std::int64_t> end_{0};
  std::array<std::atomic<std::uint64_t>, kMostChannels / 64> stopped_{};
  std::atomic<std::uint16_t> left_{0};
  std::atomic<bool> has_begun_{false};
  std::atomic<bool> is_complete_{false};
  About about_;
};

class Recorder;

/// A communicator of this process. It is never given back, since events may come late: another
/// communicator takes it over.
struct Comm {
  static constexpr std::size_t kOperations = 8192;

  explicit Comm(std::uint64_t at) : slot(at), ring(new Operation[kOperations]) {}
  [[nodiscard]] Operation& at(std::uint64_t number) { return ring[number % kOperations]; }

  const std::uint64_t slot;
  Recorder* recorder = nullptr;
  std::atomic<bool> is_open{false};
  std::atomic<std::uint64_t> next{0};     // the number of the next operation
  std::atomic<std::uint64_t> done{0};     // ... of the first one that is not in the file
  std::atomic<std::uint64_t> calls{0};    // collectives so far
  std::atomic<std::uint64_t> kernels{0};  // so far
  std::uint32_t id = 0;                   // in the file
  std::uint64_t key = 0;
  std::int32_t ranks = 0;
  std::int32_t rank = 0;
  // By the recorder's lock.
  std::uint64_t latest = 0;         // 1 more than the greatest number of a complete operation
  std::uint64_t latest_kernel = 0;  // of a complete operation
  std::int64_t last_exit = 0;       // of its collectives
  std::unique_ptr<Operation[]> ring;
};

}  // namespace latecomer::nccl
