// latecomer._core: who is the origin of waiting, for python/latecomer/report/analysis/origin.py.
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "lateness/origin.hpp"
#include "lateness/replay.hpp"

namespace latecomer {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

using Numbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Order = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>;
using Times = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const std::int64_t> view(const Numbers& numbers) {
  return {numbers.data(), numbers.size()};
}
std::span<const Seconds> view(const Times& times) { return {times.data(), times.size()}; }

/// As Replayed.
using Replay = std::tuple<double, double, std::vector<double>, double, double>;

/// A job whose columns are NumPy arrays, which it keeps alive.
class PyTracedJob {
 public:
  PyTracedJob(Numbers rank, Times begin, Times end, Numbers place, Numbers cause,
              Numbers others_first, Numbers others, Numbers meeting, Numbers meets, Times beyond,
              Numbers post_rank, Times post_time, Numbers post_next, Numbers came_first,
              Numbers came, Numbers for_all, Numbers order, Times start)
      : numbers_{std::move(rank),         std::move(place),     std::move(cause),
                 std::move(others_first), std::move(others),    std::move(meeting),
                 std::move(meets),        std::move(post_rank), std::move(post_next),
                 std::move(came_first),   std::move(came),      std::move(for_all),
                 std::move(order)},
        times_{std::move(begin), std::move(end), std::move(beyond), std::move(post_time),
               std::move(start)} {}

  /// As causal_order().
  [[nodiscard]] Order causal_order() const {
    auto* const found = new std::vector<std::int64_t>(latecomer::causal_order(job()));
    const nb::capsule owner(
        found, [](void* at) noexcept { delete static_cast<std::vector<std::int64_t>*>(at); });
    return Order(found->data(), {found->size()}, owner);
  }

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
  /// `exits(number, arrivals)`, both as in CarriedOut. `stretches`: of pairs, flat.
  [[nodiscard]] std::vector<Replay> replay(const Times& less, const Times& moving,
                                           const Numbers& first, const Numbers& calls,
                                           const nb::object& exits,
                                           const Numbers& stretches) const {
    std::vector<Stretch> some;
    for (std::size_t at = 0; at + 1 < stretches.size(); at += 2) {
      some.push_back({static_cast<std::size_t>(stretches.data()[at]),
                      static_cast<std::size_t>(stretches.data()[at + 1])});
    }
    const auto carry_out = [&exits](std::size_t number, std::span<const Seconds> arrivals) {
      const std::vector<Seconds> came(arrivals.begin(), arrivals.end());
      return nb::cast<std::vector<Seconds>>(exits(number, came));
    };
    std::vector<Replay> found;
    for (Replayed& each : latecomer::replay(
             job(), {view(less), view(moving), {{view(first), view(calls)}, carry_out}}, some)) {
      found.emplace_back(each.from, each.until, std::move(each.ahead), each.waiting, each.moving);
    }
    return found;
  }

 private:
  [[nodiscard]] TracedJob job() const {
    const auto& [rank, place, cause, others_first, others, meeting, meets, post_rank, post_next,
                 came_first, came, for_all, order] = numbers_;
    const auto& [begin, end, beyond, post_time, start] = times_;
    return {{view(rank),
             view(begin),
             view(end),
             view(place),
             view(cause),
             {view(others_first), view(others)},
             view(meeting),
             view(meets),
             view(beyond)},
            {view(post_rank), view(post_time), view(post_next)},
            {{view(came_first), view(came)}, view(for_all)},
            view(order),
            view(start)};
  }

  std::array<Numbers, 13> numbers_;
  std::array<Times, 5> times_;
};

}  // namespace

void bind_origin(nb::module_& module) {
  nb::class_<PyTracedJob>(module, "TracedJob")
      .def(nb::init<Numbers, Times, Times, Numbers, Numbers, Numbers, Numbers, Numbers, Numbers,
                    Times, Numbers, Times, Numbers, Numbers, Numbers, Numbers, Numbers, Times>(),
           nb::kw_only(), "rank"_a, "begin"_a, "end"_a, "place"_a, "cause"_a, "others_first"_a,
           "others"_a, "meeting"_a, "meets"_a, "beyond"_a, "post_rank"_a, "post_time"_a,
           "post_next"_a, "came_first"_a, "came"_a, "for_all"_a, "order"_a, "start"_a)
      .def("causal_order", &PyTracedJob::causal_order)
      .def("origins", &PyTracedJob::origins)
      .def("replay", &PyTracedJob::replay, nb::kw_only(), "less"_a, "moving"_a, "first"_a,
           "calls"_a, "exits"_a.none(), "stretches"_a);
}

}  // namespace latecomer
