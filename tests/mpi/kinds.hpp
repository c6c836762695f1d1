// Kinds of elements to reduce: a datatype, an operator, and both again in plain arithmetic.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "base/reproducible.hpp"
#include "base/types.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer::testing {

/// The value of an element; most kinds use the first number only.
using Value = std::array<double, 2>;

struct Kind {
  std::string name;
  MPI_Datatype type;
  MPI_Op op;
  bool commutative;
  bool exact;  // the result does not depend on the order of combining
  /// Bytes of memory for `count` elements, and where element 0 lies in it.
  std::function<std::size_t(Count count)> bytes;
  std::size_t origin;
  std::function<Value(Random&)> draw;
  std::function<Value(const Value&, const Value&)> combine;  // left, right
  std::function<void(char* origin, Count i, const Value&)> write;
  std::function<Value(const char* origin, Count i)> read;
};

/// Made once, freed with the object.
class Kinds {
 public:
  Kinds();
  ~Kinds();
  Kinds(const Kinds&) = delete;
  Kinds& operator=(const Kinds&) = delete;

  [[nodiscard]] const std::vector<Kind>& all() const { return all_; }
  [[nodiscard]] const Kind& named(const std::string& name) const;

 private:
  MPI_Datatype own_type(MPI_Datatype type);
  MPI_Op own_op(MPI_Op op);
  Kind with_holes();
  Kind interleaved();
  Kind affine();

  std::vector<MPI_Datatype> types_;
  std::vector<MPI_Op> ops_;
  std::vector<Kind> all_;
};

/// Elements of the interleaved kind are at most this many.
inline constexpr Count kColumn = 3000;

}  // namespace latecomer::testing
