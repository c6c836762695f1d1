// latecomer._core: the calls of a trace, for python/latecomer/report/trace and analysis.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/threads.hpp"
#include "bindings.hpp"
#include "lateness/calls.hpp"
#include "trace/matched_calls.hpp"
#include "trace/rank_file.hpp"

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

/// Memory that arrays have left, for the next ones: the system's must be filled with zeros first,
/// which takes longer than what is done with it here. Python's lock protects it.
class Pool {
 public:
  struct Piece {
    std::unique_ptr<std::byte[]> memory;
    std::size_t bytes = 0;
  };

  static Piece* take(std::size_t bytes) {
    std::vector<Piece>& free = pool().free_;
    const auto fits = [bytes](const Piece& each) {
      return each.bytes >= bytes && each.bytes <= 2 * bytes;
    };
    const auto found = std::ranges::find_if(free, fits);
    if (found == free.end()) {
      return new Piece{std::make_unique_for_overwrite<std::byte[]>(bytes), bytes};
    }
    auto* const piece = new Piece(std::move(*found));
    free.erase(found);
    return piece;
  }
  static void give(void* given) noexcept {
    const std::unique_ptr<Piece> piece(static_cast<Piece*>(given));
    std::vector<Piece>& free = pool().free_;
    if (piece->bytes < kLeast || free.size() == kPieces) return;
    free.push_back(std::move(*piece));
  }

 private:
  static constexpr std::size_t kLeast = std::size_t{1} << 20;  // bytes
  static constexpr std::size_t kPieces = 5;                    // as many as one stretch has

  Pool() { free_.reserve(kPieces); }
  static Pool& pool() {
    static auto* const kept = new Pool;
    return *kept;
  }

  std::vector<Piece> free_;
};

/// Memory of a new array, whose owner is the array.
template <class Array, class... Lengths>
Array made(Lengths... lengths) {
  using Number = typename Array::Scalar;
  Pool::Piece* const piece = Pool::take(sizeof(Number) * (std::size_t{1} * ... * lengths));
  const nb::capsule owner(piece, [](void* at) noexcept { Pool::give(at); });
  return Array(reinterpret_cast<Number*>(piece->memory.get()), {lengths...}, owner);
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

nb::dict examine_calls(const Times& arrival, const Times& exit, const Flags& by_all,
                       const std::optional<Times>& ready) {
  const std::size_t calls = arrival.shape(0);
  const std::size_t ranks = arrival.shape(1);
  const bool like = !ready || (ready->shape(0) == calls && ready->shape(1) == ranks);
  if (!like || exit.shape(0) != calls || exit.shape(1) != ranks || by_all.shape(0) != calls) {
    throw nb::value_error("arrival, exit, by_all and ready must have the same calls and ranks");
  }
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
                         {reinterpret_cast<const std::uint8_t*>(by_all.data()), by_all.size()},
                         ready ? view(*ready) : std::span<const double>{}};
  {
    const nb::gil_scoped_release released;
    examine(whole, figures, sums);
  }
  return found.all();
}

// ---- files of traces

template <class Number>
Column<Number> copied(const std::vector<Number>& numbers) {
  const auto array = made<Column<Number>>(numbers.size());
  std::ranges::copy(numbers, array.data());
  return array;
}

nb::bytes trimmed(std::string_view raw) {
  raw = raw.substr(0, raw.find_last_not_of('\0') + 1);
  return nb::bytes(raw.data(), raw.size());
}

/// A file, and the trace's numbers of its texts.
struct PyRankFile {
  std::shared_ptr<trace::RankFile> file;
  std::shared_ptr<const trace::Numbered> words;
  std::int32_t nothing = 0;

  [[nodiscard]] nb::dict header() const {
    const trace::Header& header = file->header;
    nb::dict all;
    all["rank"] = header.rank;
    all["ranks"] = header.ranks;
    all["pid"] = header.pid;
    all["clock"] = header.clock;
    all["begin"] = header.begin;
    all["real"] = header.real;
    all["end"] = header.end;
    all["dropped"] = header.dropped;
    all["limit"] = header.limit;
    all["full_of_messages"] = sizeof header + header.used * sizeof(trace::Message) >=
                              trace::room_for_messages(header.limit);
    all["host"] = trimmed({header.host.data(), header.host.size()});
    all["messages"] = header.messages;
    all["messages_lost"] = header.messages_lost;
    const trace::Status& status = header.status;
    all["turn"] = status.turn;
    all["doing"] = static_cast<int>(status.doing);
    all["doing_what"] = static_cast<int>(status.what);
    all["since"] = status.since;
    all["doing_sequence"] = status.sequence;
    all["doing_communicator"] = status.communicator;
    all["doing_name"] = status.name;
    all["doing_peer"] = status.peer;
    all["doing_site"] = status.site;
    return all;
  }
  [[nodiscard]] std::optional<std::tuple<std::int64_t, std::string, std::string, std::string>>
  refused() const {
    if (!file->refused) return std::nullopt;
    const trace::Refusal& refused = *file->refused;
    return std::tuple(refused.byte, refused.what, refused.value, refused.right);
  }
  [[nodiscard]] nb::list faults() const {
    nb::list all;
    for (const trace::Fault& each : file->faults) {
      all.append(nb::make_tuple(each.what, each.byte, each.value, each.count));
    }
    return all;
  }
  [[nodiscard]] nb::dict texts() const {
    nb::dict all;
    for (const auto& [number, text] : file->texts) {
      all[nb::int_(number)] = nb::bytes(text.data(), text.size());
    }
    return all;
  }
  [[nodiscard]] nb::list comms() const {
    nb::list all;
    for (const trace::FileComm& each : file->comms) {
      all.append(nb::make_tuple(each.id, each.key, each.number, each.rank, each.name,
                                copied(each.members), each.calls.place->size(),
                                each.overlapping.place->size(), each.together));
    }
    return all;
  }
  [[nodiscard]] nb::list clocks() const {
    nb::list all;
    for (const trace::Clock& each : file->clocks) {
      all.append(nb::make_tuple(each.communicator, each.origin, each.offset, each.error, each.drift,
                                each.drift_error));
    }
    return all;
  }
  /// The records' bytes, which the file does not hold after that.
  template <class Record>
  [[nodiscard]] static Matrix<std::uint8_t> taken(std::vector<Record>& records) {
    const auto own = std::exchange(records, {});
    const auto array = made<Matrix<std::uint8_t>>(own.size(), sizeof(Record));
    if (!own.empty()) std::memcpy(array.data(), own.data(), own.size() * sizeof(Record));
    return array;
  }
  [[nodiscard]] Matrix<std::uint8_t> messages() const { return taken(file->messages); }
  [[nodiscard]] Matrix<std::uint8_t> completions() const { return taken(file->completions); }
  [[nodiscard]] Matrix<std::uint8_t> others() const { return taken(file->others); }
  void number_texts(const std::vector<std::pair<std::uint32_t, std::int32_t>>& numbers,
                    std::int32_t other) {
    auto known = std::make_shared<trace::Numbered>(std::size_t{1} << 16);
    for (const auto& [id, word] : numbers) known->set(id, word);
    words = known;
    nothing = other;
  }
};

std::vector<PyRankFile> read_trace_files(const std::vector<std::pair<nb::bytes, int>>& named) {
  std::vector<std::pair<std::string, int>> paths;
  for (const auto& [path, rank] : named) {
    paths.emplace_back(std::string(path.c_str(), path.size()), rank);
  }
  std::vector<PyRankFile> found(paths.size());
  const nb::gil_scoped_release released;
  trace::SharedNumbers shared;
  in_parallel(paths.size(), 2, [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; ++at) {
      const auto& [path, rank] = paths[at];
      found[at].file = std::make_shared<trace::RankFile>(trace::read_rank_file(path, rank, shared));
    }
  });
  std::vector<trace::RankFile*> files;
  for (const PyRankFile& each : found) files.push_back(each.file.get());
  trace::gather_members(files);
  return found;
}

using Numbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::unique_ptr<trace::MatchedCalls> match_calls(
    const std::vector<std::pair<PyRankFile*, std::size_t>>& parts, bool overlapping,
    std::int64_t zero) {
  std::vector<trace::Part> own;
  for (const auto& [file, comm] : parts) {
    own.push_back({file->file, comm, file->words, file->nothing});
  }
  const nb::gil_scoped_release released;
  return std::make_unique<trace::MatchedCalls>(std::move(own), overlapping, zero);
}

nb::dict columns_of(const trace::MatchedCalls& calls, const Numbers& clocks) {
  trace::CallColumns found;
  std::vector<trace::Mixed> mixed;
  {
    const nb::gil_scoped_release released;
    found = calls.match(view(clocks), mixed);
  }
  nb::dict all;
  all["sequence"] = copied(calls.sequence());
  all["collective"] = copied(found.collective);
  all["operator"] = copied(found.op);
  all["site"] = copied(found.site);
  all["algorithm"] = copied(found.algorithm);
  all["bytes"] = copied(found.bytes);
  all["element_bytes"] = copied(found.element_bytes);
  all["root"] = copied(found.root);
  all["served"] = copied(found.served);
  all["gap"] = copied(found.gap);
  all["mixed"] = copied(found.mixed);
  nb::list odd;
  for (const trace::Mixed& each : mixed) {
    odd.append(nb::make_tuple(each.count, each.call, each.collective, each.others));
  }
  all["differ"] = odd;
  return all;
}

nb::tuple times_of(const trace::MatchedCalls& calls, const Numbers& rows, const Numbers& parts) {
  const auto arrival = made<Matrix<double>>(rows.size(), parts.size());
  const auto exit = made<Matrix<double>>(rows.size(), parts.size());
  {
    const nb::gil_scoped_release released;
    calls.read(view(rows), view(parts), view(arrival), view(exit));
  }
  return nb::make_tuple(arrival, exit);
}

}  // namespace

void bind_trace(nb::module_& module) {
  nb::class_<PyRankFile>(module, "RankFile")
      .def("header", &PyRankFile::header)
      .def("refused", &PyRankFile::refused)
      .def("faults", &PyRankFile::faults)
      .def("texts", &PyRankFile::texts)
      .def("comms", &PyRankFile::comms)
      .def("clocks", &PyRankFile::clocks)
      .def("messages", &PyRankFile::messages)
      .def("completions", &PyRankFile::completions)
      .def("others", &PyRankFile::others)
      .def("number_texts", &PyRankFile::number_texts, "numbers"_a, "nothing"_a)
      .def_prop_ro("messages_whole",
                   [](const PyRankFile& self) { return self.file->messages_whole; })
      .def_prop_ro("last_exit", [](const PyRankFile& self) { return self.file->last_exit; })
      .def_prop_ro("slept", [](const PyRankFile& self) { return self.file->slept; })
      .def_prop_ro("outside", [](const PyRankFile& self) {
        const trace::Outside& outside = self.file->outside;
        return std::tuple(outside.time, outside.preempted, outside.blocked);
      });
  module.def("read_trace_files", read_trace_files, "paths_and_ranks"_a);
  nb::class_<trace::MatchedCalls>(module, "MatchedCalls")
      .def_prop_ro("calls", [](const trace::MatchedCalls& self) { return self.sequence().size(); })
      .def("columns", columns_of, "clocks"_a)
      .def("set_clock",
           [](trace::MatchedCalls& self, std::size_t part, std::vector<double> times,
              std::vector<double> offsets, double start) {
             self.set_clock(part, {std::move(times), std::move(offsets)}, start);
           })
      .def("forget_arrivals", &trace::MatchedCalls::forget_arrivals, "call"_a)
      .def("forget_part", &trace::MatchedCalls::forget_part, "part"_a)
      .def("times", times_of, "calls"_a, "parts"_a);
  const auto names = [](const auto& all) {
    nb::list list;
    for (const std::string_view each : all) list.append(nb::str(each.data(), each.size()));
    return list;
  };
  module.attr("SYNCHRONISING") = names(kSynchronising);
  module.attr("NEVER_EARLY") = names(kNeverEarly);
  module.attr("ON_OBJECTS") = names(kOnObjects);
  module.def("match_calls", match_calls, "parts"_a, "overlapping"_a, "zero"_a);
  module.def("examine_calls", examine_calls, "arrival"_a, "exit"_a, "by_all"_a,
             "ready"_a = nb::none());
}

}  // namespace latecomer
