#include "transports/mpi/buffers.hpp"

namespace latecomer {
namespace {

constexpr MPI_Aint kApart = 64;

/// Elements of a type whose extent is below its span lie further apart in scratch: there they
/// must not overlap even if a message holds but one of them.
MPI_Aint scratch_spacing(const Layout& layout) {
  if (layout.separate()) return layout.extent;
  return (layout.true_extent + kApart - 1) / kApart * kApart;
}

MPI_Aint integer(const void* pointer) { return reinterpret_cast<MPI_Aint>(pointer); }

}  // namespace

Buffers::Buffers(const Layout& layout, const void* input, void* output, Scratch& scratch,
                 Count scratch_count)
    : layout_(layout) {
  const MPI_Aint spacing = scratch_spacing(layout);
  if (!layout.separate()) apart_ = Datatype::resized(layout.type, 0, spacing);
  const MPI_Datatype type = layout.separate() ? layout.type : apart_.get();
  places_[0] = {integer(input), layout.extent, layout.type};
  places_[1] = {integer(output), layout.extent, layout.type};
  places_[2] = {integer(scratch.reserve(layout, spacing, scratch_count)), spacing, type};
}

std::size_t Buffers::node_bytes(const Layout& layout, Count count) {
  return Scratch::bytes(layout, scratch_spacing(layout), count);
}

void Buffers::share(void* memory) {
  const auto base = integer(memory) + static_cast<MPI_Aint>(Scratch::bytes_before(layout_));
  places_[3] = {base, places_[2].spacing, places_[2].type};
}

void Buffers::bind(const void* input, void* output) {
  places_[0].base = integer(input);
  places_[1].base = integer(output);
}

}  // namespace latecomer
