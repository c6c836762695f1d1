#include "dropin/fortran.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <string>

#include "transports/mpi/mpi.hpp"

namespace latecomer::fortran {
namespace {

/// The addresses of one variable of Open MPI's Fortran library: compilers mangle its name in four
/// ways. A program may hold the variable itself, so the dynamic linker is asked.
class Variable {
 public:
  explicit Variable(const std::string& name) {
    std::string upper = name;
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    const std::array<std::string, 4> names = {name, name + '_', name + "__", upper};
    std::transform(names.begin(), names.end(), addresses_.begin(),
                   [](const std::string& each) { return dlsym(RTLD_DEFAULT, each.c_str()); });
  }
  [[nodiscard]] bool is(const void* address) const {
    return address != nullptr &&
           std::find(addresses_.begin(), addresses_.end(), address) != addresses_.end();
  }

 private:
  std::array<void*, 4> addresses_{};
};

}  // namespace

void* buffer(const void* address) {
  static const Variable in_place("mpi_fortran_in_place");
  static const Variable bottom("mpi_fortran_bottom");
  if (in_place.is(address)) return MPI_IN_PLACE;
  if (bottom.is(address)) return MPI_BOTTOM;
  return const_cast<void*>(address);
}

}  // namespace latecomer::fortran
