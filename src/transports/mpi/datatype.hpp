// A datatype of our own, freed when it goes out of scope.
#pragma once

#include <utility>

#include "transports/mpi/mpi.hpp"

namespace latecomer {

class Datatype {
 public:
  Datatype() = default;
  ~Datatype() { reset(); }
  Datatype(Datatype&& other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
  Datatype& operator=(Datatype&& other) noexcept {
    std::swap(type_, other.type_);
    return *this;
  }

  /// `type` with another distance between elements.
  static Datatype resized(MPI_Datatype type, MPI_Aint lower_bound, MPI_Aint extent);

  [[nodiscard]] MPI_Datatype get() const { return type_; }
  void reset();

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace latecomer
