// MPI's C interface and the few shorthands that the benchmark needs.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

namespace bench {

inline int rank() {
  int number = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &number);
  return number;
}

inline int ranks() {
  int number = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &number);
  return number;
}

/// Rank 0's text on every rank.
inline std::string broadcast(std::string text) {
  std::int64_t size = static_cast<std::int64_t>(text.size());
  MPI_Bcast(&size, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  text.resize(static_cast<std::size_t>(size));
  MPI_Bcast(text.data(), static_cast<int>(size), MPI_CHAR, 0, MPI_COMM_WORLD);
  return text;
}

}  // namespace bench
