// Measures the cost or gain of latecomer beside the MPI library alone: pairs of blocks of calls,
// one through latecomer and one by the library, in turns, on fresh communicators. Prints a JSON
// line for each communicator; `block`: the calls of a block.
#include <dlfcn.h>
#include <latecomer/latecomer_mpi.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "../mpi.hpp"
#include "../reading.hpp"
#include "../start.hpp"

namespace bench {
namespace {

constexpr const char* kUsage =
    "usage: latecomer_overhead_FAMILY [--collective allreduce|bcast] [--bytes N]\n"
    "         [--algorithm NAME] [--communicators N] [--pairs N] [--sizes N] [--drop-in 1]\n"
    "         [--fresh N] [--late SECONDS]\n"
    "Compares calls through latecomer (default: auto, with online estimates) with the MPI\n"
    "library's own, from the 100th call of each communicator on. --sizes N: instead N calls\n"
    "from the first one on, no two of one size, growing from --bytes by 64 bytes a call.\n"
    "--fresh N: instead pairs of communicators, one for latecomer and one for the library, with N\n"
    "calls each from the first one on.\n"
    "--drop-in 1: the calls are MPI's own, for a run with the drop-in library.\n"
    "--late SECONDS: the last rank enters each call so much later than the others. Then each call\n"
    "is timed from the last arrival to the last exit; all ranks must be on one machine.\n";

constexpr int kWarmUp = 100;          // calls
constexpr double kBlock = 300e-6;     // seconds that a block should take
constexpr int kMostInBlock = 500;     // calls
constexpr std::int64_t kGrowth = 64;  // bytes
constexpr double kLongest = 10;       // seconds

struct Settings {
  bool help = false;
  std::string collective = "allreduce";
  std::string algorithm = "auto";
  std::int64_t bytes = 8;
  int communicators = 20;
  int pairs = 60;
  int sizes = 0;
  int fresh = 0;  // calls on each communicator
  bool drop_in = false;
  double late = 0;  // seconds
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--help") {
      settings.help = true;
      return settings;
    }
    if (i + 1 == argc) refuse(name, "", "an option with its value; see --help");
    const std::string value = argv[++i];
    if (name == "--collective") {
      if (value != "allreduce" && value != "bcast") refuse(name, value, "allreduce or bcast");
      settings.collective = value;
    } else if (name == "--algorithm") {
      settings.algorithm = value;
    } else if (name == "--bytes") {
      settings.bytes = whole(name, value, 8);
    } else if (name == "--communicators") {
      settings.communicators = whole_int(name, value, 1);
    } else if (name == "--pairs") {
      settings.pairs = whole_int(name, value, 1);
    } else if (name == "--sizes") {
      settings.sizes = whole_int(name, value, 0);
    } else if (name == "--fresh") {
      settings.fresh = whole_int(name, value, 0);
    } else if (name == "--drop-in") {
      settings.drop_in = whole(name, value, 0) != 0;
    } else if (name == "--late") {
      settings.late = real(name, value, kLongest);
    } else {
      refuse(name, value, "an option of --help");
    }
  }
  return settings;
}

/// The MPI library's own functions, past a drop-in library, which has the names PMPI_ too. That one
/// does not have MPI_Get_version, by which the library is found.
class Library {
 public:
  Library() {
    Dl_info info{};
    const void* const version = dlsym(RTLD_DEFAULT, "PMPI_Get_version");
    if (version == nullptr || dladdr(version, &info) == 0) throw UsageError("no MPI library");
    void* const handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) throw UsageError(dlerror());
    allreduce = reinterpret_cast<decltype(&MPI_Allreduce)>(dlsym(handle, "PMPI_Allreduce"));
    bcast = reinterpret_cast<decltype(&MPI_Bcast)>(dlsym(handle, "PMPI_Bcast"));
    if (allreduce == nullptr || bcast == nullptr) throw UsageError("no PMPI functions");
  }

  decltype(&MPI_Allreduce) allreduce = nullptr;
  decltype(&MPI_Bcast) bcast = nullptr;
};

/// Calls of one collective, by the library or through latecomer.
class Calls {
 public:
  Calls(const Settings& settings, MPI_Comm comm)
      : allreduce_(settings.collective == "allreduce"),
        drop_in_(settings.drop_in),
        late_(settings.late),
        comm_(comm),
        in_(numbers(settings.bytes + kGrowth * settings.sizes), 1.0),
        out_(in_.size()) {}

  void plain(std::int64_t bytes) {
    const int count = static_cast<int>(numbers(bytes));
    if (allreduce_) {
      library_.allreduce(in_.data(), out_.data(), count, MPI_DOUBLE, MPI_SUM, comm_);
    } else {
      library_.bcast(out_.data(), count, MPI_DOUBLE, 0, comm_);
    }
  }
  void ours(std::int64_t bytes) {
    const int count = static_cast<int>(numbers(bytes));
    if (drop_in_) {
      by_mpi(count);
    } else if (allreduce_) {
      latecomer_allreduce(in_.data(), out_.data(), count, MPI_DOUBLE, MPI_SUM, comm_);
    } else {
      latecomer_bcast(out_.data(), count, MPI_DOUBLE, 0, comm_);
    }
  }
  /// Seconds a call: on the slowest rank, or after the last arrival if one is late.
  double time(bool ours_then, std::int64_t bytes, int calls) {
    if (late_ > 0) return time_with_late_rank(ours_then, bytes, calls);
    PMPI_Barrier(comm_);
    const double start = MPI_Wtime();
    for (int i = 0; i < calls; ++i) ours_then ? ours(bytes) : plain(bytes);
    double taken = (MPI_Wtime() - start) / calls;
    PMPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_DOUBLE, MPI_MAX, comm_);
    return taken;
  }

 private:
  void by_mpi(int count) {
    if (allreduce_) {
      MPI_Allreduce(in_.data(), out_.data(), count, MPI_DOUBLE, MPI_SUM, comm_);
    } else {
      MPI_Bcast(out_.data(), count, MPI_DOUBLE, 0, comm_);
    }
  }
  double time_with_late_rank(bool ours_then, std::int64_t bytes, int calls) {
    double sum = 0;
    for (int i = 0; i < calls; ++i) {
      PMPI_Barrier(comm_);
      const double begin = MPI_Wtime();
      while (rank() == ranks() - 1 && MPI_Wtime() < begin + late_) {
      }
      double arrival_and_exit[2] = {MPI_Wtime(), 0};
      ours_then ? ours(bytes) : plain(bytes);
      arrival_and_exit[1] = MPI_Wtime();
      PMPI_Allreduce(MPI_IN_PLACE, arrival_and_exit, 2, MPI_DOUBLE, MPI_MAX, comm_);
      sum += arrival_and_exit[1] - arrival_and_exit[0];
    }
    return sum / calls;
  }
  static std::size_t numbers(std::int64_t bytes) { return static_cast<std::size_t>(bytes) / 8; }

  Library library_;
  bool allreduce_;
  bool drop_in_;
  double late_;
  MPI_Comm comm_;
  std::vector<double> in_;
  std::vector<double> out_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

MPI_Comm fresh(const Settings& settings) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (settings.drop_in) return comm;  // its environment says which algorithm
  const int code =
      latecomer_set_algorithm(comm, settings.collective.c_str(), settings.algorithm.c_str());
  if (code != MPI_SUCCESS) throw UsageError(latecomer_last_error());
  latecomer_set_estimate(comm, "online");
  return comm;
}

void print(int number, const std::vector<double>& plain, const std::vector<double>& ours,
           const latecomer_stats& stats, int block) {
  if (rank() != 0) return;
  const auto sum = [](const std::vector<double>& all) {
    return std::accumulate(all.begin(), all.end(), 0.0);
  };
  std::printf(
      "{\"communicator\": %d, \"plain_us\": %.3f, \"ours_us\": %.3f, "
      "\"plain_sum_us\": %.1f, \"ours_sum_us\": %.1f, \"handled\": %llu, \"calls\": %llu, "
      "\"block\": %d}\n",
      number, median(plain) * 1e6, median(ours) * 1e6, sum(plain) * 1e6, sum(ours) * 1e6,
      static_cast<unsigned long long>(stats.handled),
      static_cast<unsigned long long>(stats.handled + stats.native), block);
  std::fflush(stdout);
}

void measure_fresh(const Settings& settings, int number) {
  double plain = 0;
  double ours = 0;
  latecomer_stats stats{};
  for (const bool ours_then : {number % 2 == 1, number % 2 == 0}) {
    MPI_Comm comm = fresh(settings);
    (ours_then ? ours : plain) =
        Calls(settings, comm).time(ours_then, settings.bytes, settings.fresh);
    if (ours_then) latecomer_get_stats(comm, &stats);
    MPI_Comm_free(&comm);
  }
  print(number, {plain}, {ours}, stats, settings.fresh);
}

void measure(const Settings& settings, int number) {
  MPI_Comm comm = fresh(settings);
  Calls calls(settings, comm);
  std::vector<double> plain;
  std::vector<double> ours;
  int block = 1;  // calls
  if (settings.sizes > 0) {
    for (int i = 0; i < settings.sizes; ++i) {
      const std::int64_t bytes = settings.bytes + kGrowth * i;
      plain.push_back(calls.time(false, bytes, 1));
      ours.push_back(calls.time(true, bytes, 1));
    }
  } else {
    const double usual = calls.time(false, settings.bytes, kWarmUp);
    calls.time(true, settings.bytes, kWarmUp);
    block = std::clamp(static_cast<int>(kBlock / usual), 1, kMostInBlock);
    for (int i = 0; i < settings.pairs; ++i) {
      const bool ours_first = i % 2 == 1;
      const double first = calls.time(ours_first, settings.bytes, block);
      const double second = calls.time(!ours_first, settings.bytes, block);
      plain.push_back(ours_first ? second : first);
      ours.push_back(ours_first ? first : second);
    }
  }
  latecomer_stats stats{};
  latecomer_get_stats(comm, &stats);
  print(number, plain, ours, stats, block);
  MPI_Comm_free(&comm);
}

void run(const Settings& settings) {
  for (int i = 0; i < settings.communicators; ++i)
    settings.fresh > 0 ? measure_fresh(settings, i) : measure(settings, i);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code =
      bench::start("overhead", bench::kUsage, [&] { return bench::parse(argc, argv); }, bench::run);
  MPI_Finalize();
  return code;
}
