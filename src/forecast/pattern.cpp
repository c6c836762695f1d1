#include "forecast/pattern.hpp"

namespace latecomer {
namespace {

constexpr std::size_t kSampled = 17;  // ranks whose median stands for that of all

template <typename Value>
Seconds middle(std::size_t count, const Value& value) {
  const std::size_t sampled = std::min(kSampled, count);
  std::array<Seconds, kSampled> values{};
  for (std::size_t i = 0; i < sampled; ++i) values[i] = value(i * count / sampled);
  const auto median = values.begin() + static_cast<std::ptrdiff_t>((sampled - 1) / 2);
  std::nth_element(values.begin(), median, values.begin() + static_cast<std::ptrdiff_t>(sampled));
  return *median;
}

template <typename Value>
void take_off_middle(const Value& value, std::span<float> pattern) {
  const Seconds median = middle(pattern.size(), value);
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    pattern[i] = static_cast<float>(value(i) - median);
  }
}

}  // namespace

void pattern_of(std::span<const Seconds> times, std::span<float> pattern) {
  take_off_middle([data = times.data()](std::size_t i) { return data[i]; }, pattern);
}

void pattern_of(std::span<const Seconds> times, std::span<const Seconds> less,
                std::span<float> pattern) {
  take_off_middle(
      [one = times.data(), other = less.data()](std::size_t i) { return one[i] - other[i]; },
      pattern);
}

}  // namespace latecomer
