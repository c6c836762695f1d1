#include "runtime/connection/agreement.hpp"

#include <algorithm>
#include <cstring>

#include "base/reproducible.hpp"
#include "runtime/connection/meeting.hpp"
#include "runtime/connection/shared_comm.hpp"

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

}  // namespace latecomer
