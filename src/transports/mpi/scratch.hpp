// Memory for elements of any datatype, kept from call to call.
#pragma once

#include <cstddef>
#include <memory>

#include "transports/mpi/layout.hpp"

namespace latecomer {

class Scratch {
 public:
  /// The address of element 0 of `count` elements that lie `spacing` bytes apart. What was stored
  /// before is lost. Throws std::bad_alloc.
  void* reserve(const Layout& layout, MPI_Aint spacing, Count count);

  [[nodiscard]] std::size_t capacity() const { return capacity_; }

 private:
  static constexpr std::size_t kAlignment = 64;
  struct Release {
    void operator()(std::byte* memory) const {
      ::operator delete(memory, std::align_val_t{kAlignment});
    }
  };

  std::unique_ptr<std::byte, Release> memory_;
  std::size_t capacity_ = 0;
};

}  // namespace latecomer
