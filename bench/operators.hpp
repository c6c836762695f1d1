// The operators of the benchmark on numbers of type T: how MPI knows them, and what they mean.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>

#include "slowness.hpp"

namespace bench {

template <class T>
struct Sum {
  static constexpr int kNumbers = 1;  // of an element
  static constexpr int kCommutes = 1;
  static void combine(const T* left, T* right) { *right = static_cast<T>(*left + *right); }
};

template <class T>
struct Max {
  static constexpr int kNumbers = 1;
  static constexpr int kCommutes = 1;
  static void combine(const T* left, T* right) { *right = std::max(*left, *right); }
};

/// The sum at about a hundred times its cost: twelve divisions, each waiting for the one before.
template <class T>
struct SlowSum {
  static constexpr int kNumbers = 1;
  static constexpr int kCommutes = 1;
  static void combine(const T* left, T* right) {
    double waste = static_cast<double>(*left);
    for (int i = 0; i < 12; ++i) waste = 1.0 / (waste * waste + 1.0);
    const T nothing = waste > 2 ? T{1} : T{0};  // it never is, but no compiler knows
    *right = static_cast<T>(*left + *right + nothing);
  }
};

/// Composes maps x -> a x + b modulo a prime: associative, but the order matters. The prime is
/// small enough for float32 to hold every product exactly.
template <class T>
struct Compose {
  static constexpr int kNumbers = 2;
  static constexpr int kCommutes = 0;
  static constexpr std::int64_t kPrime = 4093;
  static void combine(const T* left, T* right) {
    const auto whole = [](T number) { return static_cast<std::int64_t>(number); };
    const std::int64_t a = whole(right[0]) * whole(left[0]);
    const std::int64_t b = whole(right[0]) * whole(left[1]) + whole(right[1]);
    right[0] = static_cast<T>(a % kPrime);
    right[1] = static_cast<T>(b % kPrime);
  }
};

/// Composites pixels of red, green, blue and alpha, colours multiplied by alpha: the left one lies
/// in front (Porter and Duff 1984). A clear left one changes nothing. Alpha is 0 or 1
/// here, so that results are exact; a weight between them costs what 1 does.
template <class T>
struct Over {
  static constexpr int kNumbers = 4;
  static constexpr int kCommutes = 0;
  static void combine(const T* left, T* right) {
    if (left[3] == 0) return;
    const T through = static_cast<T>(1 - left[3]);
    for (int i = 0; i < kNumbers; ++i) right[i] = static_cast<T>(left[i] + through * right[i]);
  }
};

/// As MPI calls a user's operator.
template <class T, template <class> class Operator>
void reduce(void* in, void* inout, int* length, MPI_Datatype*) {
  const T* const left = static_cast<const T*>(in);
  T* const right = static_cast<T*>(inout);
  for (std::int64_t i = 0; i < *length; ++i) {
    Operator<T>::combine(left + i * Operator<T>::kNumbers, right + i * Operator<T>::kNumbers);
  }
  lose_time(*length);
}

}  // namespace bench
