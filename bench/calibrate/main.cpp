// Measures what the cost model of a network needs, with plain MPI calls: `latecomer calibrate`
// makes parameters with error bars of the samples.
#include <latecomer/latecomer.h>
#include <unistd.h>

#include <set>

#include "../clock.hpp"
#include "../json.hpp"
#include "../lines.hpp"
#include "../mpi.hpp"
#include "../start.hpp"
#include "../surroundings.hpp"
#include "eager.hpp"
#include "rounds.hpp"
#include "settings.hpp"

namespace bench {
namespace {

constexpr int kMostRounds = 200;
constexpr std::int64_t kWarmUpMost = 1 << 16;  // bytes

/// Few small sizes, doubling ones from 4 KiB, and both sides of the eager limit.
std::vector<std::int64_t> sizes_for(std::int64_t largest, std::int64_t eager) {
  std::set<std::int64_t> sizes{8, 64, 512};
  for (std::int64_t bytes = 4096; bytes < largest; bytes *= 2) sizes.insert(bytes);
  sizes.insert(largest);
  if (eager > 0 && eager < largest) sizes.insert({eager, eager + 1});
  return {sizes.begin(), sizes.end()};
}

std::string header(const Team& team, std::int64_t largest, std::int64_t eager,
                   std::int64_t buffer) {
  return '{' + field("version", quoted(latecomer_version())) + field("mpi", quoted(library())) +
         field("ranks", std::to_string(ranks())) + field("members", std::to_string(team.size())) +
         field("cores", std::to_string(sysconf(_SC_NPROCESSORS_ONLN))) +
         field("largest", std::to_string(largest)) + field("eager", std::to_string(eager)) +
         field("buffer", std::to_string(buffer)) + "\"hosts\":" + list(team.hosts(), quoted) + '}';
}

std::string line(int round, const Sample& sample) {
  return "{\"round\":" + std::to_string(round) + ",\"pattern\":" + quoted(sample.pattern) +
         ",\"bytes\":" + std::to_string(sample.bytes) + ",\"seconds\":" + number(sample.seconds) +
         '}';
}

/// Rank 0's clock decides for all.
bool go_on(const Settings& settings, int rounds, double began) {
  const double each = rounds > 0 ? (now() - began) / rounds : 0;
  const bool time_left = now() - began + each < settings.seconds && rounds < kMostRounds;
  int more = rounds < settings.rounds || time_left ? 1 : 0;
  MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return more != 0;
}

void run(const Settings& settings) {
  const Team team;
  Lines lines(settings.output);
  Messages messages(settings.largest);
  const std::int64_t eager = find_eager_limit(team, messages, settings.largest);
  Rounds rounds(team, messages, sizes_for(settings.largest, eager), eager);
  rounds.measure(-1, kWarmUpMost);  // connections and caches
  lines.write(header(team, settings.largest, eager, find_buffer(team, messages, eager)));
  const double began = now();
  for (int round = 0; go_on(settings, round, began); ++round) {
    for (const Sample& sample : rounds.measure(round, settings.largest)) {
      lines.write(line(round, sample));
    }
  }
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int result = bench::start(
      "latecomer_calibrate", bench::kCalibrateUsage,
      [&] { return bench::parse_settings(argc, argv); }, bench::run);
  MPI_Finalize();
  return result;
}
