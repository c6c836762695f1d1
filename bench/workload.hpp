// The vectors of a call: small random whole numbers whose results are exact in the type, and the
// right result, which every rank computes by itself from the seeds of all ranks.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "options.hpp"

namespace bench {

class Workload {
 public:
  virtual ~Workload() = default;

  /// Fresh data for one iteration, and the result they must give. `delays`: by rank; images are
  /// full in proportion to them, if that is the imbalance.
  virtual void draw(std::uint64_t iteration, const std::vector<double>& delays) = 0;
  /// Makes the result buffer hold nothing that could pass for a result.
  virtual void wipe() = 0;
  /// Elements of the result buffer that are wrong.
  [[nodiscard]] virtual std::int64_t wrong() const = 0;

  [[nodiscard]] virtual const void* input() const = 0;
  [[nodiscard]] virtual void* result() = 0;
  /// Elements of type(): of a rank's part of the vector where ranks have such, else of all of it.
  [[nodiscard]] virtual int count() const = 0;
  [[nodiscard]] virtual MPI_Datatype type() const = 0;
  [[nodiscard]] virtual MPI_Op op() const = 0;
};

[[nodiscard]] std::unique_ptr<Workload> make_workload(const Options& options);
[[nodiscard]] int bytes_of(const std::string& type);

}  // namespace bench
