// Every datatype that MPI defines with every operator that the MPI library computes on it, and
// elements that make the order of combining visible: whole numbers that leave their range, NaNs
// with payloads, infinities, denormals, zeros of both signs, and whatever random bits mean.
#pragma once

#include <string>
#include <vector>

#include "base/reproducible.hpp"
#include "base/types.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer::testing {

struct Awkward {
  std::string name;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
};

/// The built-in operators, and `users` on MPI_UINT64_T. In the same order on all ranks.
[[nodiscard]] std::vector<Awkward> awkward_kinds(MPI_Op users);

/// A user's operator on MPI_UINT64_T: commutative by name only.
void mix(void* in, void* inout, int* length, MPI_Datatype* type);

/// Elements of a datatype; the bytes between data have no value.
class Elements {
 public:
  Elements(const Awkward& kind, int count);
  void draw(Random& random);
  void* data() { return memory_.data(); }
  void* at(int element) { return memory_.data() + extent_ * element; }
  /// The bytes that count.
  [[nodiscard]] std::vector<char> bytes() const;

 private:
  MPI_Datatype type_;
  int count_;
  std::size_t size_ = 0;  // bytes of data in an element
  MPI_Aint extent_ = 0;
  std::vector<char> memory_;
};

}  // namespace latecomer::testing
