#include "transports/mpi/scratch.hpp"

#include <new>

namespace latecomer {
namespace {

std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

void* Scratch::reserve(const Layout& layout, MPI_Aint spacing, Count count) {
  if (count == 0) return nullptr;
  // Element 0 is aligned, not the first byte of its data: fields keep their own alignment then.
  const auto before = layout.true_lb < 0
                          ? rounded_up(static_cast<std::size_t>(-layout.true_lb), kAlignment)
                          : std::size_t{0};
  const MPI_Aint after = (count - 1) * spacing + layout.true_lb + layout.true_extent;
  const std::size_t bytes = before + (after > 0 ? static_cast<std::size_t>(after) : 0);
  if (bytes > capacity_) {
    memory_.reset();
    capacity_ = 0;
    void* const fresh = ::operator new(bytes, std::align_val_t{kAlignment});
    memory_.reset(static_cast<std::byte*>(fresh));
    capacity_ = bytes;
  }
  return memory_.get() + before;
}

}  // namespace latecomer
