#include "worlds/values.hpp"

#include <cmath>
#include <cstring>

namespace latecomer::worlds {
namespace {

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;  // splitmix64, public domain, by S. Vigna
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace

void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
  if (*type == MPI_FLOAT) return;  // that of a rank that asks wrongly
  const auto* const left = static_cast<const std::uint64_t*>(in);
  auto* const right = static_cast<std::uint64_t*>(inout);
  for (int i = 0; i < *count; ++i) {
    const auto a = static_cast<std::uint32_t>(left[i] >> 32);
    const auto b = static_cast<std::uint32_t>(left[i]);
    const auto c = static_cast<std::uint32_t>(right[i] >> 32);
    const auto d = static_cast<std::uint32_t>(right[i]);
    right[i] = static_cast<std::uint64_t>(a * c) << 32 | static_cast<std::uint32_t>(b * c + d);
  }
}

std::vector<char> vector_of(const Step& step, int number, int rank, int count) {
  std::vector<char> made(count * kWidth[step.type]);
  const std::uint64_t begin = mix(mix(number) + rank);
  const auto drawn = [&](std::uint64_t i) {
    const std::uint64_t x = (begin + i) * 0x9e3779b97f4a7c15U;
    return x ^ x >> 32;
  };
  const auto fill = [&](auto* elements, auto value) {
    for (int i = 0; i < count; ++i) elements[i] = value(drawn(i));
  };
  if (step.type == 0) {
    fill(reinterpret_cast<int*>(made.data()), [](auto x) { return static_cast<int>(x >> 54); });
  } else if (step.type == 1) {
    fill(reinterpret_cast<double*>(made.data()),
         [](auto x) { return static_cast<double>(static_cast<std::int64_t>(x) >> 11) * 0x1p-53; });
  } else {
    fill(reinterpret_cast<std::uint64_t*>(made.data()), [](auto x) { return x; });
  }
  return made;
}

std::vector<char> reduced(const Step& step, int number, int ranks) {
  std::vector<char> sum = vector_of(step, number, 0, step.count);
  MPI_Datatype none = MPI_DATATYPE_NULL;
  for (int rank = 1; rank < ranks; ++rank) {
    std::vector<char> next = vector_of(step, number, rank, step.count);
    for (int i = 0; i < step.count; ++i) {
      if (step.type == 0) {
        reinterpret_cast<int*>(sum.data())[i] += reinterpret_cast<int*>(next.data())[i];
      } else if (step.type == 1) {
        reinterpret_cast<double*>(sum.data())[i] += reinterpret_cast<double*>(next.data())[i];
      }
    }
    if (step.type == 2) {
      int count = step.count;
      compose(sum.data(), next.data(), &count, &none);
      sum = std::move(next);
    }
  }
  return sum;
}

bool agree(const Step& step, const std::vector<char>& got, const std::vector<char>& right) {
  if (step.type != 1) return got == right;
  for (int i = 0; i < step.count; ++i) {
    const double a = reinterpret_cast<const double*>(got.data())[i];
    const double b = reinterpret_cast<const double*>(right.data())[i];
    if (std::abs(a - b) > 1e-10 * (1 + std::abs(b))) return false;
  }
  return true;
}

}  // namespace latecomer::worlds
