// The buffers of a call in memory: where the elements of a slice lie, and as which type.
#pragma once

#include "schedule/program.hpp"
#include "transports/mpi/datatype.hpp"
#include "transports/mpi/scratch.hpp"

namespace latecomer {

class Buffers {
 public:
  /// Of no call.
  Buffers() = default;
  /// In place, `input` is not used. Throws std::bad_alloc.
  Buffers(const Layout& layout, const void* input, void* output, Scratch& scratch,
          Count scratch_count);

  /// The bytes that elements take in the node's buffer, where they lie as in scratch.
  [[nodiscard]] static std::size_t node_bytes(const Layout& layout, Count count);
  /// The bytes from one element to the next there.
  [[nodiscard]] MPI_Aint node_spacing() const { return at(Buffer::node).spacing; }
  /// Sets the node's buffer, which is aligned as pages are.
  void share(void* memory);

  /// Sets the input and output of a call that began with scratch alone.
  void bind(const void* input, void* output);

  [[nodiscard]] void* address(const Slice& slice, Count offset = 0) const {
    const Place& place = at(slice.buffer);
    return reinterpret_cast<void*>(place.base + (slice.begin + offset) * place.spacing);
  }
  [[nodiscard]] MPI_Datatype type(const Slice& slice) const { return at(slice.buffer).type; }
  /// The datatype as the user gave it, for operators.
  [[nodiscard]] MPI_Datatype element() const { return layout_.type; }
  [[nodiscard]] const Layout& layout() const { return layout_; }

 private:
  struct Place {
    MPI_Aint base = 0;
    MPI_Aint spacing = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
  };
  [[nodiscard]] const Place& at(Buffer buffer) const { return places_[static_cast<int>(buffer)]; }

  Layout layout_;
  Datatype apart_;  // the type of scratch elements, where the user's own would overlap
  Place places_[kBuffers];
};

}  // namespace latecomer
