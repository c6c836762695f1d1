// A file of JSON lines.
#pragma once

#include <cstdio>
#include <string>

#include "mpi.hpp"
#include "usage_error.hpp"

namespace bench {

/// Rank 0 writes.
class Lines {
 public:
  /// "": standard output. Collective. Throws UsageError on all ranks if the file cannot be written.
  explicit Lines(const std::string& name) {
    if (rank() == 0) file_ = name.empty() ? stdout : std::fopen(name.c_str(), "w");
    int opened = rank() != 0 || file_ != nullptr ? 1 : 0;
    MPI_Bcast(&opened, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (opened == 0) {
      throw UsageError("--output: '" + name +
                       "' is not usable; right would be a file that rank 0 can write");
    }
  }
  ~Lines() {
    if (file_ != nullptr && file_ != stdout) std::fclose(file_);
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  void write(const std::string& line) {
    if (file_ == nullptr) return;
    std::fprintf(file_, "%s\n", line.c_str());
    std::fflush(file_);
  }

 private:
  std::FILE* file_ = nullptr;
};

}  // namespace bench
