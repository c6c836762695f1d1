#include "runtime/connection/meeting.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/parse.hpp"
#include "base/reproducible.hpp"
#include "runtime/connection/clocks/clocks.hpp"
#include "runtime/connection/internal_comm.hpp"
#include "runtime/report/log.hpp"
#include "transports/mpi/backoff.hpp"
#include "transports/mpi/mailbox.hpp"
#include "transports/mpi/user_code.hpp"

namespace latecomer {
namespace {

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
  static Post& instance() {
    static auto& made = *new Post;  // communicators may be used after static objects
    return made;
  }

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
  Post() : mailbox_(shared_comm::link(), 0) {}

  std::mutex guard_;
  Mailbox mailbox_;
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
    Post& post = Post::instance();
    (void)wait_until(
        [&] {
          found = post.receive(members_.place(awaited.from), head(awaited.step, Met::agreed));
          return found.has_value() || post.failed();
        },
        awaited.until - over());
    if (!found) return std::nullopt;
    return MeetingRank::Message{awaited.step, found->head.met, found->head.about,
                                std::move(found->told)};
  }
  void act(const MeetingRank::Actions& actions) const {
    for (const auto& [to, message] : actions.tell) {
      Post::instance().send(members_.place(to), head(message.step, message.met), message.told);
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
