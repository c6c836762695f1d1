#include "worlds/findings.hpp"

#include <latecomer/latecomer_mpi.h>

#include <algorithm>
#include <regex>

#include "worlds/values.hpp"

namespace latecomer::worlds {
namespace {

constexpr int kFailures = 0;  // Tags::kFailures
constexpr int kControl = 4;   // Tags::kControl
constexpr int kBlocks = 7;    // Tags::kBlocks
/// Who finalizes so much earlier than others, in nanoseconds, waits no longer for what they tell of
/// blocks (CommResources::end_blocks).
constexpr Time kGivesUp = 1'900'000'000;
constexpr int kTagsOfSlot = 2048;  // communicators that share one (connection/internal_comm.cpp)
constexpr int kMeetings = 0;       // runtime/connection/meeting.cpp
constexpr int kGreeting = (1 << 28) - 1;  // the largest there is (dropin/handshake.hpp)

/// The most that the library holds on a rank after MPI_Finalize, for the life of the process:
/// the registry of algorithms, defaults, the last timetables, which grow with the ranks, and stores
/// that calls may use until the very end.
std::size_t held_for_ever(std::size_t ranks) { return (64 + 4 * ranks) << 10; }

/// The algorithm of the last call, as far as the communicator's statistics tell it.
std::string last_algorithm(MPI_Comm comm, const std::string& collective, std::uint64_t bytes) {
  int keys = 0;
  latecomer_count_stats(comm, &keys, nullptr);
  for (int i = 0; i < keys; ++i) {
    static latecomer_key_stats stats;  // large
    if (latecomer_get_key_stats(comm, i, &stats) != MPI_SUCCESS || stats.last_choice < 0) continue;
    if (stats.collective != collective || stats.bytes != bytes || stats.exact != 0) continue;
    const auto& choice = stats.choices[stats.last_choice];
    return std::string(choice.algorithm) + ' ' + choice.parameters;
  }
  return "unknown";
}

}  // namespace

std::string Findings::where(int step) {
  return "step " + std::to_string(step) + ", rank " + std::to_string(Scheduler::running()->me());
}

bool Findings::excused(MPI_Comm comm) const {
  if (excused_.contains(comm)) return true;
  if (world_.shortage.resource != Resource::heap || failed_requests() == 0) return false;
  return Within()->comms.at(comm)->rank_of(world_.shortage.rank) >= 0;
}

const std::vector<char>& Findings::right(const Step& step, const Called& called, int size) {
  const auto [place, made] = right_.try_emplace(called);
  auto& right = place->second;
  if (!made) return right;
  const auto& [number, comm] = called;
  switch (step.kind) {
    case Kind::allreduce:
    case Kind::reduce:
      right = reduced(step, number, size);
      break;
    case Kind::bcast:
      right = vector_of(step, number, step.root % size, step.count);
      break;
    case Kind::scatter:
      right = vector_of(step, number, step.root % size, step.count * size);
      break;
    default:
      for (int rank = 0; rank < size; ++rank) {
        const auto part = vector_of(step, number, rank, step.count);
        right.insert(right.end(), part.begin(), part.end());
      }
  }
  return right;
}

void Findings::check(const Step& step, const Called& called, int me, int size,
                     const std::vector<char>& got) {
  const auto& all = right(step, called, size);
  const bool sum = step.kind == Kind::allreduce || step.kind == Kind::reduce;
  const std::size_t begin = step.kind == Kind::scatter ? me * got.size() : 0;
  const bool good =
      sum ? agree(step, got, all)
          : std::equal(got.begin(), got.end(), all.begin() + static_cast<std::ptrdiff_t>(begin));
  if (!good) fault(where(called.first) + ": wrong data");
  if (step.kind != Kind::allreduce) return;
  const auto [first, made] = first_.try_emplace(called, got);
  if (!made && first->second != got) {
    fault(where(called.first) + ": other bits than another rank, by " +
          last_algorithm(called.second, "allreduce", got.size()));
  }
}

void Findings::check_counts(const Called& called, std::pair<std::uint64_t, std::uint64_t> counts) {
  const auto [first, made] = counts_.emplace(called, counts);
  if (first->second == counts) return;
  const auto in_words = [](const auto& pair) {
    return std::to_string(pair.first) + " handled, " + std::to_string(pair.second) +
           " by the library";
  };
  fault(where(called.first) + ": " + in_words(counts) + ", where another rank has " +
        in_words(first->second));
}

int check_reports(const Scheduler& scheduler, const MpiState& state, Findings& findings) {
  int waiting = 0;
  const std::string said = "\n" + scheduler.said();
  for (int rank = 0; rank < static_cast<int>(state.ranks.size()); ++rank) {
    if (scheduler.ended(rank) || scheduler.dead(rank) || !state.ranks[rank].polls) continue;
    ++waiting;
    const std::string own = "\n" + std::to_string(rank) + ": latecomer: ";
    const auto begin = said.rfind(own);
    const std::string line = begin == std::string::npos
                                 ? "nothing"
                                 : said.substr(begin + 1, said.find('\n', begin + 1) - begin);
    static const std::regex named(
        R"(waiting for .*\b(rank|node) [0-9]+|rank [0-9]+ of .*: this rank waits for it|)"
        R"(waiting for .*; MPI does not tell which)");
    if (!std::regex_search(line, named)) {
      findings.fault("rank " + std::to_string(rank) + ": waits in step " +
                     std::to_string(findings.at[rank]) + ", and says " + line);
    }
  }
  return waiting;
}

void check_remains(const MpiState& state, std::ptrdiff_t most_comms, bool missed,
                   Findings& findings) {
  Time last = 0;
  for (const RankState& each : state.ranks) last = std::max(last, each.finalizing);
  for (std::size_t rank = 0; rank < state.ranks.size(); ++rank) {
    const RankState& mine = state.ranks[rank];
    const bool gave_up = mine.finalizing > 0 && last - mine.finalizing >= kGivesUp;
    const auto left = [&](const std::string& what, std::size_t number) {
      if (number > 0) {
        findings.fault("rank " + std::to_string(rank) + ": leaves " + std::to_string(number) + " " +
                       what);
      }
    };
    for (const auto& [context, all] : mine.arrived) {
      for (const auto& message : all) {
        // Nobody waits for the last control messages (transports/mpi/mailbox.hpp), nor for
        // questions to a rank that has come meanwhile.
        const int kind = message.tag % kTagsOfSlot;
        if ((kind == kControl || kind == kFailures) && message.size <= 64) continue;
        if (kind == kBlocks && message.size <= 96 && gave_up) continue;
        if (message.tag == kMeetings && missed) continue;
        if (message.tag == kGreeting && findings.leaves_greetings(static_cast<int>(rank))) continue;
        left("message of " + std::to_string(message.size) + " B from rank " +
                 std::to_string(message.source) + ", tag " + std::to_string(message.tag),
             1);
      }
    }
    std::size_t receives = 0;
    for (const auto& [context, all] : mine.posted) receives += all.size();
    left("receives that nobody serves", receives);
    left("groups", mine.groups.size());
    left("datatypes", mine.types.size());
    // The library keeps its own communicators for later ones of the same ranks: one of each.
    const auto own = std::count_if(mine.comms.begin(), mine.comms.end(), [](const auto& each) {
      return each.second.alive && (each.first & 0xff000000) == 0x84000000;
    });
    if (own > most_comms) left("communicators", own);
    const Held& held = held_by(static_cast<int>(rank));
    if (held.bytes > held_for_ever(state.ranks.size())) {
      left("B of memory in " + std::to_string(held.blocks) + " blocks", held.bytes);
    }
  }
}

}  // namespace latecomer::worlds
