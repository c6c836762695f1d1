#include "compositor.hpp"

#include <latecomer/latecomer_mpi.h>

#include <utility>

#include "options.hpp"

namespace raytracer {
namespace {

void must(int code) {
  if (code != MPI_SUCCESS) throw UsageError(latecomer_last_error());
}

/// As MPI calls it: `in` is from lower ranks, so it lies in front. Clear pixels take next to no
/// time: the duration depends on the image.
void composite_over(void* in, void* inout, int* length, MPI_Datatype*) {
  const auto* const front = static_cast<const Pixel*>(in);
  auto* const back = static_cast<Pixel*>(inout);
  for (int i = 0; i < *length; ++i) {
    if (front[i].alpha != 0) back[i] = over(front[i], back[i]);
  }
}

}  // namespace

Compositor::Compositor(std::string algorithm, const std::string& network)
    : algorithm_(std::move(algorithm)) {
  MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
  must(latecomer_set_algorithm(comm_, "reduce", algorithm_.c_str()));
  must(latecomer_set_network(comm_, network.empty() ? nullptr : network.c_str()));
  must(latecomer_set_estimate(comm_, "online"));
  MPI_Type_contiguous(4, MPI_FLOAT, &pixel_);
  MPI_Type_commit(&pixel_);
  const int commutes = 0;
  MPI_Op_create(composite_over, commutes, &over_);
}

Compositor::~Compositor() {
  if (over_ != MPI_OP_NULL) MPI_Op_free(&over_);
  if (pixel_ != MPI_DATATYPE_NULL) MPI_Type_free(&pixel_);
  MPI_Comm_free(&comm_);
}

void Compositor::composite(const Image& own, Image& whole, int root) {
  const int count = static_cast<int>(own.size());
  latecomer_reduce(own.data(), whole.data(), count, pixel_, over_, root, comm_);
}

}  // namespace raytracer
