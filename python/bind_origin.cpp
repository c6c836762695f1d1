#include "bind_origin.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include "lateness/origin.hpp"

namespace latecomer {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

using Numbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Times = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const std::int64_t> view(const Numbers& numbers) {
  return {numbers.data(), numbers.size()};
}
std::span<const Seconds> view(const Times& times) { return {times.data(), times.size()}; }

/// A job whose columns are NumPy arrays, which it keeps alive.
class PyTracedJob {
 public:
  PyTracedJob(Numbers rank, Times begin, Times end, Numbers place, Numbers cause, Numbers meets,
              Numbers step, Numbers post_rank, Times post_time, Numbers post_step, Numbers order,
              Times beyond, Times start)
      : numbers_{std::move(rank), std::move(place),     std::move(cause),     std::move(meets),
                 std::move(step), std::move(post_rank), std::move(post_step), std::move(order)},
        times_{std::move(begin), std::move(end), std::move(post_time), std::move(beyond),
               std::move(start)} {}

  [[nodiscard]] nb::dict origins() const {
    const Origins found = find_origins(job());
    nb::list charges;
    for (const Charge& each : found.charges) {
      charges.append(nb::make_tuple(each.rank, each.place, each.seconds));
    }
    nb::dict all;
    all["charges"] = charges;
    all["direct"] = found.direct;
    all["waiting"] = found.waiting;
    all["moving"] = found.moving;
    all["order"] = found.order;
    all["waits"] = found.waits;
    return all;
  }
  [[nodiscard]] std::vector<Seconds> ahead_without(const Numbers& marks) const {
    return latecomer::ahead_without(job(), view(marks));
  }

 private:
  [[nodiscard]] TracedJob job() const {
    const auto& [rank, place, cause, meets, step, post_rank, post_step, order] = numbers_;
    const auto& [begin, end, post_time, beyond, start] = times_;
    return {{view(rank), view(begin), view(end), view(place), view(cause), view(meets), view(step)},
            {view(post_rank), view(post_time), view(post_step)},
            view(order),
            view(beyond),
            view(start)};
  }

  std::array<Numbers, 8> numbers_;
  std::array<Times, 5> times_;
};

}  // namespace

void bind_origin(nb::module_& module) {
  nb::class_<PyTracedJob>(module, "TracedJob")
      .def(nb::init<Numbers, Times, Times, Numbers, Numbers, Numbers, Numbers, Numbers, Times,
                    Numbers, Numbers, Times, Times>(),
           nb::kw_only(), "rank"_a, "begin"_a, "end"_a, "place"_a, "cause"_a, "meets"_a, "step"_a,
           "post_rank"_a, "post_time"_a, "post_step"_a, "order"_a, "beyond"_a, "start"_a)
      .def("origins", &PyTracedJob::origins)
      .def("ahead_without", &PyTracedJob::ahead_without, "marks"_a);
}

}  // namespace latecomer
