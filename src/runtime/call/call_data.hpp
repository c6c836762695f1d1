// The location of a call's data while its program runs: the user's buffers or, if the program does
// not fit them (datatypes with holes, parts that do not follow each other, a program for calls in
// place in one that is not), buffers of our own.
#pragma once

#include <memory>

#include "runtime/call/call.hpp"
#include "transports/mpi/layout.hpp"

namespace latecomer {

class CallData {
 public:
  /// `planned`: the problem of the program, which may differ from the call's in `in_place`.
  /// Throws std::bad_alloc.
  CallData(const Call& call, const Problem& planned, Rank me);

  /// The layout of the program's elements.
  [[nodiscard]] Layout layout() const;
  [[nodiscard]] const void* input() const { return input_; }
  [[nodiscard]] void* output() const { return output_; }
  /// MPI's code from packing the data.
  [[nodiscard]] int code() const { return code_; }
  /// Moves the result to the user's buffer after the program. Returns MPI's code.
  [[nodiscard]] int finish();
  /// MPI may still use the memory: it is never freed.
  void abandon();

 private:
  void place_input();
  void place_output();
  void adapt();
  [[nodiscard]] Count part_bytes() const;
  [[nodiscard]] char* own_part_of_output() const;
  [[nodiscard]] bool received_in_a_row(const Layout& layout) const;
  void pack_own_part(const Layout& layout);

  const Call& call_;
  Problem problem_;  // the call's own
  bool planned_in_place_;
  Rank me_;
  const void* input_ = nullptr;
  void* output_ = nullptr;
  std::unique_ptr<char[]> packed_input_, packed_output_, aside_;
  int code_ = MPI_SUCCESS;
};

}  // namespace latecomer
