#include "bind_trace.hpp"

#include <nanobind/ndarray.h>

#include <memory>

#include "lateness/calls.hpp"

namespace latecomer {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

template <class Number>
using Column = nb::ndarray<nb::numpy, Number, nb::ndim<1>, nb::c_contig>;
template <class Number>
using Matrix = nb::ndarray<nb::numpy, Number, nb::ndim<2>, nb::c_contig>;
using Times = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Memory of a new array, whose owner is the array.
template <class Array, class... Lengths>
Array made(Lengths... lengths) {
  using Number = typename Array::Scalar;
  auto memory = std::make_unique_for_overwrite<Number[]>((std::size_t{1} * ... * lengths));
  Number* const data = memory.get();
  const nb::capsule owner(memory.release(), [](void* at) noexcept {
    const std::unique_ptr<Number[]> freed(static_cast<Number*>(at));
  });
  return Array(data, {lengths...}, owner);
}

template <class Array>
auto view(const Array& array) {
  return std::span(array.data(), array.size());
}

/// Columns by their names.
class Columns {
 public:
  template <class Array, class... Lengths>
  auto add(const char* name, Lengths... lengths) {
    const auto array = made<Array>(lengths...);
    all_[name] = array;
    return view(array);
  }
  [[nodiscard]] const nb::dict& all() const { return all_; }

 private:
  nb::dict all_;
};

nb::dict examine_calls(const Times& arrival, const Times& exit, const Flags& by_all) {
  const std::size_t calls = arrival.shape(0);
  const std::size_t ranks = arrival.shape(1);
  using Time = Column<double>;
  using Rank = Column<std::int32_t>;
  Columns found;
  const CallFigures figures{
      .lateness = found.add<Matrix<double>>("lateness", calls, ranks),
      .waiting = found.add<Matrix<double>>("waiting", calls, ranks),
      .cost = found.add<Matrix<double>>("cost", calls, ranks),
      .waited = found.add<Time>("waited", calls),
      .moved = found.add<Time>("moved", calls),
      .spread = found.add<Time>("spread", calls),
      .alone = found.add<Time>("alone", calls),
      .after = found.add<Time>("after", calls),
      .last = found.add<Rank>("last", calls),
      .first = found.add<Rank>("first", calls),
  };
  const RankSums sums{
      .waiting = found.add<Time>("rank_waiting", ranks),
      .moving = found.add<Time>("rank_moving", ranks),
      .cost = found.add<Time>("rank_cost", ranks),
      .lateness = found.add<Time>("rank_lateness", ranks),
      .squares = found.add<Time>("squares", ranks),
      .products = found.add<Time>("products", ranks),
  };
  const WholeCalls whole{ranks,
                         view(arrival),
                         view(exit),
                         {reinterpret_cast<const std::uint8_t*>(by_all.data()), by_all.size()}};
  {
    const nb::gil_scoped_release released;
    examine(whole, figures, sums);
  }
  return found.all();
}

}  // namespace

void bind_trace(nb::module_& module) {
  module.def("examine_calls", examine_calls, "arrival"_a, "exit"_a, "by_all"_a);
}

}  // namespace latecomer
