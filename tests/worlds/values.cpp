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

/// The element `i` that the rank `rank` of the communicator gives in step `step`.
void put_element(char* to, int type, int step, int rank, int i) {
  const std::uint64_t drawn = mix(mix(mix(step) + rank) + i);
  if (type == 0) {
    const auto value = static_cast<int>(drawn % 1000);
    std::memcpy(to, &value, 4);
  } else if (type == 1) {
    const double value = static_cast<double>(drawn >> 11) * 0x1p-53 - 0.5;
    std::memcpy(to, &value, 8);
  } else {
    std::memcpy(to, &drawn, 8);
  }
}

}  // namespace

void compose(void* in, void* inout, int* count, MPI_Datatype*) {
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
  for (int i = 0; i < count; ++i) {
    put_element(made.data() + i * kWidth[step.type], step.type, number, rank, i);
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
