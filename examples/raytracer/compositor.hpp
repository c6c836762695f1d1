// The ranks' images become one: latecomer_reduce with an operator of our own.
#pragma once

#include <mpi.h>

#include <string>

#include "pixel.hpp"

namespace raytracer {

class Compositor {
 public:
  /// Collective. Throws UsageError on all ranks for texts that are no algorithm or network.
  Compositor(std::string algorithm, const std::string& network);
  ~Compositor();
  Compositor(const Compositor&) = delete;
  Compositor& operator=(const Compositor&) = delete;

  [[nodiscard]] const std::string& algorithm() const { return algorithm_; }
  /// The ranks' images, those of lower ranks in front, give `whole` on the root.
  void composite(const Image& own, Image& whole, int root);

 private:
  std::string algorithm_;
  MPI_Comm comm_ = MPI_COMM_NULL;  // of its own: the library learns arrivals for each
  MPI_Datatype pixel_ = MPI_DATATYPE_NULL;
  MPI_Op over_ = MPI_OP_NULL;
};

}  // namespace raytracer
