// The buffers of a call in memory: where the elements of a slice lie, as which type, as bytes in a
// row, and work on them.
#pragma once

#include <utility>
#include <vector>

#include "schedule/program.hpp"
#include "transports/mpi/memory.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

/// A datatype of our own, freed when it goes out of scope.
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

class Buffers {
 public:
  /// For no call.
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

// Elements of any datatype as bytes in a row, and back.

/// `count` elements of the slice from `offset` on.
struct Part {
  const Slice& slice;
  Count offset;
  int count;
};

[[nodiscard]] inline std::size_t packed_bytes(const Layout& layout, int count) {
  return static_cast<std::size_t>(layout.size) * static_cast<std::size_t>(count);
}

/// `bytes` holds packed_bytes(); `comm` is MPI's formality. Return MPI's code.
int pack(const Buffers& buffers, const Part& part, char* bytes, MPI_Comm comm);
int unpack(const Buffers& buffers, const char* bytes, const Part& part, MPI_Comm comm);

/// Work on one rank's own memory: combining and copying elements of any datatype.
class LocalWork {
 public:
  /// At most `piece_limit` elements are given to MPI at once; `comm` is used for packing only.
  LocalWork(MPI_Comm comm, Count piece_limit) : comm_(comm), piece_limit_(piece_limit) {}

  /// result = left op right, kept where `into` says. Returns MPI's error code.
  int combine(const Buffers& buffers, MPI_Op op, const Slice& left, const Slice& right, Into into);
  int copy(const Buffers& buffers, const Slice& from, const Slice& to);

 private:
  int repack(const Buffers& buffers, const Slice& from, const Slice& to);

  MPI_Comm comm_;
  Count piece_limit_;
  std::vector<char> packed_;
};

}  // namespace latecomer
