#include "rounds.hpp"

#include <algorithm>
#include <random>

#include "../clock.hpp"
#include "../mpi.hpp"

namespace bench {
namespace {

constexpr std::int64_t kCombineLeast = 1 << 12, kCombineMost = 1 << 22;  // bytes
constexpr int kTrips = 5, kManyTrips = 15;
constexpr std::int64_t kShort = 1 << 17;     // bytes; trips of more are not repeated
constexpr std::int64_t kSlowMost = 1 << 20;  // bytes; a pattern that takes long shows by then
constexpr std::int64_t kCombined = 1 << 26;  // bytes in all; so long that all ranks overlap

std::vector<std::int64_t> combine_sizes() {
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = kCombineLeast; bytes <= kCombineMost; bytes *= 4) {
    sizes.push_back(bytes);
  }
  return sizes;
}

/// Seconds of one pass over `bytes`.
double combine(const std::vector<float>& left, std::vector<float>& right, std::int64_t bytes) {
  const auto passes = static_cast<int>(kCombined / bytes);
  const auto count = static_cast<int>(bytes / static_cast<std::int64_t>(sizeof(float)));
  const double start = now();
  for (int i = 0; i < passes; ++i) {
    MPI_Reduce_local(left.data(), right.data(), count, MPI_FLOAT, MPI_SUM);
  }
  return (now() - start) / passes;
}

MPI_Comm first_members(const Team& team, int number) {
  MPI_Comm comm = MPI_COMM_NULL;
  const bool in = team.place() >= 0 && team.place() < number;
  MPI_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, rank(), &comm);
  return comm;
}

std::vector<std::int64_t> between(const std::vector<std::int64_t>& sizes, std::int64_t least,
                                  std::int64_t most) {
  std::vector<std::int64_t> kept;
  std::copy_if(sizes.begin(), sizes.end(), std::back_inserter(kept),
               [&](std::int64_t bytes) { return bytes >= least && bytes <= most; });
  return kept;
}

}  // namespace

Rounds::Rounds(const Team& team, Messages& messages, std::vector<std::int64_t> sizes,
               std::int64_t eager)
    : team_(team),
      messages_(messages),
      sizes_(std::move(sizes)),
      eager_(eager),
      even_(first_members(team, power_below(team.size()))),
      left_(kCombineMost / sizeof(float)),
      right_(kCombineMost / sizeof(float)) {}

Rounds::~Rounds() {
  if (even_ != MPI_COMM_NULL) MPI_Comm_free(&even_);
}

/// Ranks that measure nothing wait without taking cores from the others.
void Rounds::section(const char* pattern, const std::vector<std::int64_t>& sizes,
                     const Measure& measure) {
  std::vector<double> sums(2 * sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::optional<double> seconds = measure(sizes[i]);
    sums[2 * i] = seconds.value_or(0);
    sums[2 * i + 1] = seconds ? 1 : 0;
  }
  team_.meet();
  std::vector<double> all(sums.size());
  MPI_Reduce(sums.data(), all.data(), static_cast<int>(sums.size()), MPI_DOUBLE, MPI_SUM, 0,
             MPI_COMM_WORLD);
  for (std::size_t i = 0; rank() == 0 && i < sizes.size(); ++i) {
    found_.push_back({pattern, sizes[i], all[2 * i] / all[2 * i + 1]});
  }
}

/// The handshake is a small difference of two sizes, and asks for more trips.
int Rounds::rested_trips(std::int64_t bytes) const {
  if (bytes == eager_ || bytes == eager_ + 1) return kManyTrips;
  return bytes <= kShort ? kTrips : 1;
}

/// Another pair of members in each round.
void Rounds::between_two(int round, const std::vector<std::int64_t>& sizes) {
  const int size = team_.size();
  const int one = std::max(round, 0) % size;
  const int other = (one + 1 + (std::max(round, 0) / size) % (size - 1)) % size;
  const int place = team_.place();
  const bool first = place == one;
  const bool in = first || place == other;
  const int peer = first ? other : one;
  const auto of_first = [&](double seconds) {
    return first ? std::optional(seconds) : std::nullopt;
  };
  section("pair", sizes, [&](std::int64_t bytes) -> std::optional<double> {
    return in ? of_first(messages_.pair(team_.members(), peer, first, bytes)) : std::nullopt;
  });
  section("rested", sizes, [&](std::int64_t bytes) -> std::optional<double> {
    if (!in) return std::nullopt;
    return of_first(messages_.rested(team_.members(), peer, first, bytes, rested_trips(bytes)));
  });
}

void Rounds::exchanges(const char* pattern, const std::vector<std::int64_t>& sizes, First first) {
  section(pattern, sizes, [this, first](std::int64_t bytes) -> std::optional<double> {
    if (even_ == MPI_COMM_NULL) return std::nullopt;
    return messages_.exchange(even_, bytes, first);
  });
}

void Rounds::between_all(const std::vector<std::int64_t>& sizes) {
  const auto ring = [this](MPI_Comm comm) {
    return [this, comm](std::int64_t bytes) -> std::optional<double> {
      if (comm == MPI_COMM_NULL) return std::nullopt;
      return messages_.ring(comm, bytes);
    };
  };
  section("ring", sizes, ring(team_.members()));
  exchanges("exchange", sizes, First::send);
  exchanges("exchange, received first", between(sizes, eager_ + 1, kSlowMost), First::receive);
  if (team_.shared()) section("local", sizes, ring(team_.host()));
}

void Rounds::combining() {
  const auto all = combine_sizes();
  section("combine", all, [this](std::int64_t bytes) { return combine(left_, right_, bytes); });
  section("combine alone", all, [this](std::int64_t bytes) -> std::optional<double> {
    if (rank() != 0) return std::nullopt;
    return combine(left_, right_, bytes);
  });
}

std::vector<Sample> Rounds::measure(int round, std::int64_t most) {
  std::vector<std::int64_t> sizes = between(sizes_, 0, most);
  std::mt19937_64 random(static_cast<std::uint64_t>(round + 1));
  std::shuffle(sizes.begin(), sizes.end(), random);
  found_.clear();
  between_two(round, sizes);
  between_all(sizes);
  combining();
  return found_;
}

}  // namespace bench
