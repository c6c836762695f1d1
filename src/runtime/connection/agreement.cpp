#include "runtime/connection/agreement.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "base/parse.hpp"
#include "base/reproducible.hpp"
#include "runtime/connection/meeting.hpp"
#include "runtime/connection/shared_comm.hpp"
#include "runtime/report/log.hpp"
#include "transports/mpi/backoff.hpp"
#include "transports/mpi/user_code.hpp"

namespace latecomer {
namespace {

/// By how much ranks may leave a call at different times: some have all data long before others.
Seconds patience(const CommState& state) {
  constexpr Seconds kAtLeast = 5;
  constexpr double kCalls = 10;
  return kAtLeast + kCalls * state.inside;
}

Occasion occasion(CommState& state, const Identity& identity, std::string_view about) {
  const std::string text = std::string(about) + ' ' + std::to_string(state.calls);
  return {identity, ++state.meetings, fnv1a(text), patience(state)};
}

struct Introduced {
  std::int64_t rank = 0;
  Introduction introduction;
};

std::vector<Introduced> read(const Told& told) {
  std::vector<Introduced> all(told.size() / sizeof(Introduced));
  std::memcpy(all.data(), told.data(), all.size() * sizeof(Introduced));
  return all;
}

Told tell(const Introduced& mine) {
  Told told(sizeof mine);
  std::memcpy(told.data(), &mine, sizeof mine);
  return told;
}

/// The two reductions of a review. MPI may write to them until both have ended.
struct Reductions {
  Review review;
  MPI_Request reviewing = MPI_REQUEST_NULL;
  // Of each rank whether it has the reviews of all, and twice the subject, once as a negative one.
  std::array<std::int64_t, 3> verdict{};
  MPI_Request agreeing = MPI_REQUEST_NULL;

  [[nodiscard]] bool agreed() const { return verdict[0] == 1 && verdict[1] == -verdict[2]; }
};

int begin_min(void* values, std::size_t count, MPI_Datatype type, MPI_Comm comm,
              MPI_Request& request) {
  return UserCode::run([&] {
    return PMPI_Iallreduce(MPI_IN_PLACE, values, static_cast<int>(count), type, MPI_MIN, comm,
                           &request);
  });
}

/// True if the request ended well, within so many seconds.
bool ends_within(MPI_Request& request, Seconds at_most) {
  int code = MPI_SUCCESS;
  const bool ended = wait_until(
      [&] {
        int done = 0;
        code = UserCode::run([&] { return PMPI_Test(&request, &done, MPI_STATUS_IGNORE); });
        return done != 0 || code != MPI_SUCCESS;
      },
      at_most);
  return ended && code == MPI_SUCCESS;
}

/// True if all ranks merged their reviews of the same subject. Who waits in vain leaves its part of
/// both reductions: a rank that comes later finds that nobody accepts. Who has the reviews of all
/// waits for the verdict: all have come, and all give one.
bool merge_reviews(MPI_Comm comm, std::uint64_t subject, Review& review, Seconds at_most) {
  auto ours = std::make_unique<Reductions>();
  ours->review = review;
  const auto values = ours->review.values();
  if (begin_min(values.data(), values.size(), MPI_DOUBLE, comm, ours->reviewing) != MPI_SUCCESS) {
    return false;
  }
  const bool all_came = ends_within(ours->reviewing, at_most);
  const auto about = static_cast<std::int64_t>(subject >> 1);
  ours->verdict = {all_came ? 1 : 0, about, -about};
  const int code = begin_min(ours->verdict.data(), 3, MPI_INT64_T, comm, ours->agreeing);
  if (!all_came) {
    (void)ours.release();  // MPI writes there when the others come
    return false;
  }
  if (code != MPI_SUCCESS) return false;
  UserCode::run([&] { return PMPI_Wait(&ours->agreeing, MPI_STATUS_IGNORE); });
  if (!ours->agreed()) return false;
  review = ours->review;
  return true;
}

Slot slot_of(const Told& told) {
  Slot largest = 0;
  for (const Introduced& each : read(told)) largest = std::max(largest, each.introduction.slot);
  return largest;
}

}  // namespace

int link_by_meeting(CommState& state, const Identity& identity, Introduction mine,
                    Introductions& all, std::unique_ptr<InternalComm>& made) {
  const ReleasedCommLock released(state.lock);
  SlotSearch search(identity.name);
  Slot slot = 0;
  do {
    mine.slot = shared_comm::propose(search.above());
    Told told = tell(Introduced{state.rank, mine});
    bool taken = false;
    const Met met = meet(
        occasion(state, identity, "link"), told,
        [](Told& mine_and, const Told& theirs) {
          mine_and.insert(mine_and.end(), theirs.begin(), theirs.end());
        },
        [&](const Told& result) {
          slot = slot_of(result);
          taken = read(result).size() == static_cast<std::size_t>(state.ranks) &&
                  shared_comm::take(slot);
          return taken;
        });
    if (met == Met::agreed) {
      all.resize(static_cast<std::size_t>(state.ranks));
      for (const Introduced& each : read(told)) {
        all.at(static_cast<std::size_t>(each.rank)) = each.introduction;
      }
      made =
          std::make_unique<InternalComm>(shared_comm::link_of(slot, identity.members, identity.me));
      return MPI_SUCCESS;
    }
    if (taken) shared_comm::give_back(slot);
    if (met == Met::missed) break;
  } while (search.go_on(slot));
  return MPI_ERR_OTHER;
}

bool review_by_meeting(CommState& state, const Identity& identity, const Problem& problem,
                       Review& review) {
  const ReleasedCommLock released(state.lock);
  Told told = review.bytes();
  const Met met = meet(occasion(state, identity,
                                "review of " + std::to_string(problem.count) + ' ' +
                                    std::string(to_string(problem.collective))),
                       told, Review::merge_bytes, [](const Told&) { return true; });
  if (met == Met::agreed) {
    review = Review::of_bytes(told);
    return true;
  }
  state.resources_failed = true;
  state.chooser.give_up();
  return false;
}

bool review_by_reductions(CommState& state, const CallClass& call_class, Review& review) {
  if (state.reviews_missed) return false;
  const Seconds at_most = patience(state) + state.tuning.long_wait;
  const std::array<std::uint64_t, 2> subject = {call_class.key, call_class.calls};
  const bool merged = [&] {
    const ReleasedCommLock released(state.lock);
    return merge_reviews(state.comm, fnv1a(std::span(subject)), review, at_most);
  }();
  if (merged) return true;
  state.reviews_missed = true;
  if (state.rank == 0) {
    log_line(describe(state.comm) + ", call " + std::to_string(state.calls) +
             ": the ranks do not compare the same calls, or one did not come within " +
             format_fixed(at_most, 0) +
             " s: did a rank pass another count, datatype or root? Calls that the MPI library "
             "carries out stay with it");
  }
  return false;
}

}  // namespace latecomer
