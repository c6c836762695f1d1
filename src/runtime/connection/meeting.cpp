#include "runtime/connection/meeting.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/reproducible.hpp"
#include "base/threads.hpp"
#include "runtime/connection/clocks/clocks.hpp"
#include "runtime/connection/internal_comm.hpp"
#include "runtime/report/log.hpp"
#include "transports/mpi/backoff.hpp"
#include "transports/mpi/mailbox.hpp"

namespace latecomer {
namespace {

constexpr Seconds kLongWait = Tuning{}.long_wait;  // before it is reported

std::atomic<bool> gave_up{false};

struct Head {
  std::uint64_t identity = 0;
  std::uint64_t number = 0;
  std::uint64_t about = 0;
  MeetingRank::Step step = {};
  Met met = {};  // of a verdict, or so far
};

struct Letter {
  int from = 0;  // place
  Head head;
  Told told;
};

/// The messages of all meetings of the process. Those that another thread's meeting waits for, or
/// none yet, are kept.
class Post {
 public:
  void send(int to, const Head& head, const Told& told) {
    Told bytes(sizeof head + told.size());
    std::memcpy(bytes.data(), &head, sizeof head);
    std::copy(told.begin(), told.end(), bytes.begin() + sizeof head);
    const std::lock_guard hold(guard_);
    mailbox_.send(to, bytes.data(), bytes.size());
  }
  /// The message of this step from a rank, if it has come. After an error none comes.
  std::optional<Letter> receive(int from, const Head& sought) {
    const std::lock_guard hold(guard_);
    while (const auto envelope = mailbox_.receive_from(from)) {
      if (envelope->content.size() < sizeof(Head)) continue;
      Letter& message = kept_.emplace_back();
      message.from = from;
      std::memcpy(&message.head, envelope->content.data(), sizeof(Head));
      const auto rest = envelope->content.subspan(sizeof(Head));
      message.told.assign(rest.begin(), rest.end());
    }
    const auto fits = [&](const Letter& one) {
      return one.from == from && one.head.identity == sought.identity &&
             one.head.number == sought.number && one.head.step == sought.step;
    };
    const auto found = std::find_if(kept_.begin(), kept_.end(), fits);
    if (found == kept_.end()) return std::nullopt;
    Letter message = std::move(*found);
    kept_.erase(found);
    return message;
  }
  [[nodiscard]] bool failed() {
    const std::lock_guard hold(guard_);
    return mailbox_.error() != MPI_SUCCESS;
  }

 private:
  std::mutex guard_;
  Mailbox mailbox_{shared_comm::link(), 0};
  std::list<Letter> kept_;
};

/// Carries the messages of one rank's part.
class Meeting {
 public:
  explicit Meeting(const Occasion& occasion)
      : occasion_(occasion), members_(*occasion.identity.members), begin_(monotonic_clock()) {}

  Met operator()(Told& told, MeetingRank::Merge merge,
                 const std::function<bool(const Told& result)>& accept) {
    MeetingRank rank(members_.count(), occasion_.identity.me, occasion_.about, occasion_.patience,
                     std::move(told), merge);
    act(rank.come());
    while (!rank.over()) {
      if (rank.asked()) {
        const bool accepts = accept(rank.told());
        act(rank.answer(accepts, over()));
      } else {
        const auto message = hear(rank.awaited());
        act(message ? rank.hear(*message, over()) : rank.miss(over()));
      }
    }
    told = rank.told();
    return rank.met();
  }

 private:
  [[nodiscard]] Seconds over() const { return monotonic_clock() - begin_; }
  [[nodiscard]] Head head(MeetingRank::Step step, Met met) const {
    return {occasion_.identity.name, occasion_.number, occasion_.about, step, met};
  }
  std::optional<MeetingRank::Message> hear(const MeetingRank::Awaited& awaited) {
    std::optional<Letter> found;
    Post& post = lasting<Post>();
    const auto came = [&] {
      found = post.receive(members_.place(awaited.from), head(awaited.step, Met::agreed));
      return found.has_value() || post.failed();
    };
    // After a long call the patience is long, too.
    const Seconds left = awaited.until - over();
    if (std::isfinite(left) && left > kLongWait && !wait_until(came, kLongWait)) {
      report(awaited.from,
             awaited.step == MeetingRank::Step::here
                 ? "has not come, or waits for one that has not,"
                 : "has not said whether all ranks came",
             "this rank waits for it");
    }
    if (!found && !post.failed()) (void)wait_until(came, awaited.until - over());
    if (!found) return std::nullopt;
    return MeetingRank::Message{awaited.step, found->head.met, found->head.about,
                                std::move(found->told)};
  }
  void act(const MeetingRank::Actions& actions) const {
    for (const auto& [to, message] : actions.tell) {
      lasting<Post>().send(members_.place(to), head(message.step, message.met), message.told);
    }
    if (actions.missed) {
      report(*actions.missed, "did not come to link ranks",
             "it calls MPI past the drop-in library, or was stopped; the MPI library carries out "
             "the calls of communicators that are not linked yet");
    }
    if (actions.awaited) {
      report(*actions.awaited, "came, and has not said whether all accept",
             "this rank waits for it, since others may have accepted");
    }
  }
  /// Says which rank is missing.
  void report(Rank rank, const char* what, const char* why) const {
    log_line("rank " + std::to_string(members_.place(rank)) + " of MPI_COMM_WORLD " + what +
             " within " + std::to_string(std::lround(over())) + " s: " + why);
  }

  const Occasion& occasion_;
  const Members& members_;
  Seconds begin_;
};

}  // namespace

Met meet(const Occasion& occasion, Told& told, MeetingRank::Merge merge,
         const std::function<bool(const Told& result)>& accept) {
  if (gave_up) return Met::missed;
  const Met met = Meeting(occasion)(told, merge, accept);
  if (met == Met::missed) gave_up = true;
  return met;
}

bool meets_no_more() { return gave_up; }

Seconds patience(const CommState& state) {
  constexpr Seconds kAtLeast = 5;
  constexpr double kCalls = 10;
  return kAtLeast + kCalls * state.inside;
}

namespace {

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
