#include "forecast/call_sequence.hpp"

#include <algorithm>
#include <bit>
#include <span>

namespace latecomer {
namespace {

/// FNV-1a of words, with the high bits folded back: all bits depend on all words.
CallKey key_of(const Problem& problem, Count bytes) {
  const bool has_root = rooted(problem.collective);
  const auto kind = static_cast<std::uint64_t>(problem.collective);
  const auto size = static_cast<std::uint64_t>(bytes);
  const auto root = static_cast<std::uint64_t>(has_root ? problem.root : 0);
  const std::uint64_t flags =
      (has_root ? 1U : 0U) | (problem.commutative ? 2U : 0U) | (problem.exact ? 4U : 0U);
  CallKey hash = 0xcbf29ce484222325ULL;
  for (const std::uint64_t word : {kind << 8U | flags, size, root}) {
    hash = (hash ^ word) * 0x100000001b3ULL;
    hash ^= hash >> 32U;
  }
  return hash;
}

}  // namespace

CallKey call_key(const Problem& problem) { return key_of(problem, problem.bytes()); }

CallKey class_key(const Problem& problem) {
  constexpr int kBits = 4;  // kept of a size: eighths of an octave
  const Count size = problem.bytes();
  const auto width = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size)));
  const int less = std::max(width - kBits, 0);
  return key_of(problem, size >> less << less);
}

void CallSequence::add(CallKey key) {
  const int before = period_;
  find_period(key);
  keys_[calls_++ % keys_.size()] = key;
  const auto period = static_cast<std::uint64_t>(period_);
  if (period_ != 0 && period_ == before && held_[period] > period) {
    position_ = (position_ + 1) % period_;
  } else {
    position_ = period_ == 0 ? 0 : (period_ - minimal_rotation()) % period_;
  }
}

/// The true period holds on while shorter ones that fit inside it break, and its multiples have
/// held less long.
void CallSequence::find_period(CallKey next) {
  std::uint64_t longest = 0;
  period_ = 0;
  for (std::uint64_t period = 1; period < held_.size() && period <= calls_; ++period) {
    std::uint64_t& held = held_[period];
    held = next == ago(static_cast<int>(period)) ? held + 1 : 0;
    if (held < period || held <= longest) continue;
    longest = held;
    period_ = static_cast<int>(period);
  }
}

/// The start of the minimal rotation of the last `period_` keys, counted from the oldest of them.
int CallSequence::minimal_rotation() const {
  const auto period = static_cast<std::size_t>(period_);
  std::array<CallKey, 2UL * kLongestPeriod> twice{};
  for (int i = 0; i < 2 * period_; ++i) *(twice.begin() + i) = ago(period_ - i % period_);
  const auto rotation = [&](std::size_t start) { return std::span(twice).subspan(start, period); };
  std::size_t best = 0;
  for (std::size_t start = 1; start < period; ++start) {
    if (std::ranges::lexicographical_compare(rotation(start), rotation(best))) best = start;
  }
  return static_cast<int>(best);
}

HistoryKey CallSequence::place(CallKey key) const {
  if (period_ == 0 || key != expected()) return {key};
  int found = 0;
  for (int calls = 1; calls <= period_; ++calls) found += ago(calls) == key ? 1 : 0;
  return found == 1 ? HistoryKey{key} : HistoryKey{key, period_, position_};
}

}  // namespace latecomer
