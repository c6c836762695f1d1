// The types of ranks, counts and times.
#pragma once

#include <cstdint>

namespace latecomer {

using Rank = std::int32_t;
using Count = std::int64_t;  // elements, bytes, segments: 64 bits everywhere
using Seconds = double;

/// A half-open range of elements [begin, begin + count).
struct Range {
  Count begin = 0;
  Count count = 0;

  [[nodiscard]] Count end() const { return begin + count; }
  [[nodiscard]] bool empty() const { return count == 0; }
  bool operator==(const Range&) const = default;
};

}  // namespace latecomer
