#include "forecast/trend.hpp"

#include <array>

#include "base/per_thread.hpp"

namespace latecomer {
namespace {

constexpr std::size_t kBlock = 32;  // ranks at a time, side by side in vector registers

using Row = std::array<float, kBlock>;
using Rows = std::array<Row, kTrendCalls>;

/// Not on the stack: a thread of the program may have little.
struct Workspace {
  Rows values{};
  Rows slopes{};
  Rows heights{};
};

void order(Row& upper, Row& lower) {
  Row min;
  Row max;
  for (std::size_t column = 0; column < kBlock; ++column) {
    min[column] = std::min(upper[column], lower[column]);
  }
  for (std::size_t column = 0; column < kBlock; ++column) {
    max[column] = std::max(upper[column], lower[column]);
  }
  upper = min;
  lower = max;
}

/// The columns of the first `count` rows, by odd-even transposition.
void sort_columns(Rows& rows, std::size_t count) {
  for (std::size_t pass = 0; pass < count; ++pass) {
    for (std::size_t i = pass % 2; i + 1 < count; i += 2) order(rows[i], rows[i + 1]);
  }
}

/// The median of each column of the first `count` rows, which it sorts.
Row medians(Rows& rows, std::size_t count) {
  sort_columns(rows, count);
  Row medians = rows[count / 2];
  if (count % 2 == 1) return medians;
  for (std::size_t column = 0; column < kBlock; ++column) {
    medians[column] = (medians[column] + rows[count / 2 - 1][column]) / 2;
  }
  return medians;
}

/// The next of `count` values in each column, the oldest first.
Row extrapolate(Workspace& space, std::size_t count) {
  auto& [values, slopes, heights] = space;
  const std::size_t half = count / 2;
  for (std::size_t i = 0; i + half < count; ++i) {
    for (std::size_t column = 0; column < kBlock; ++column) {
      slopes[i][column] = (values[i + half][column] - values[i][column]) / static_cast<float>(half);
    }
  }
  const Row slope = medians(slopes, count - half);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t column = 0; column < kBlock; ++column) {
      heights[i][column] = values[i][column] + slope[column] * static_cast<float>(count - i);
    }
  }
  return medians(heights, count);
}

}  // namespace

void trend(const PatternHistory& history, std::span<float> next) {
  const int calls = std::min(history.in_a_row(), kTrendCalls);
  Workspace& space = PerThread<Workspace, Workspace>::get();
  Rows& values = space.values;
  for (std::size_t first = 0; first < next.size(); first += kBlock) {
    const std::span<float> block = next.subspan(first, std::min(kBlock, next.size() - first));
    for (int i = 0; i < calls; ++i) {
      Row& row = values[static_cast<std::size_t>(i)];
      history.read(calls - i, std::span(row).first(block.size()), first);
    }
    const Row extrapolated = extrapolate(space, static_cast<std::size_t>(calls));
    std::copy_n(extrapolated.begin(), block.size(), block.begin());
  }
}

}  // namespace latecomer
