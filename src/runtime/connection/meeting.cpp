#include "runtime/connection/meeting.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "patterns/trees.hpp"
#include "runtime/connection/clocks/clocks.hpp"
#include "runtime/connection/shared_comm.hpp"
#include "runtime/report/log.hpp"
#include "transports/mpi/backoff.hpp"
#include "transports/mpi/mailbox.hpp"

namespace latecomer {
namespace {

std::atomic<bool> gave_up{false};

/// The steps of a meeting, in their order.
enum class Step : std::uint64_t { here, result, accepts, verdict };

struct Head {
  std::uint64_t identity;
  std::uint64_t number;
  std::uint64_t about;
  Step step;
  Met met;  // of a verdict, or so far
};

struct Letter {
  int from;  // place
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

class Meeting {
 public:
  explicit Meeting(const Occasion& occasion)
      : occasion_(occasion),
        members_(*occasion.identity.members),
        node_(binomial_node(members_.count(), occasion.identity.me)),
        begin_(monotonic_clock()) {}

  template <class Merge, class Accept>
  Met operator()(Told& told, Merge&& merge, Accept&& accept) {
    if (!hear_children(told, merge)) {
      tell_parent(Step::here, Met::missed, {});
      return tell_children(Step::result, Met::missed, {});
    }
    tell_parent(Step::here, Met::agreed, told);
    if (!node_.root()) {
      auto result = hear_parent(Step::result, patience_above());
      if (!result && occasion_.identity.me == node_.parent + 1) report(node_.parent);
      if (!result || result->head.met == Met::missed) {
        return tell_children(Step::result, Met::missed, {});
      }
      told = std::move(result->told);
    }
    (void)tell_children(Step::result, Met::agreed, told);
    Met met =
        std::min(accept(std::as_const(told)) ? Met::agreed : Met::declined, hear_acceptance());
    tell_parent(Step::accepts, met, {});
    if (!node_.root() && met != Met::missed) {
      const auto verdict = hear_parent(Step::verdict, std::nullopt);
      met = verdict ? verdict->head.met : Met::missed;
    }
    return tell_children(Step::verdict, met, {});
  }

 private:
  [[nodiscard]] Head head(Step step, Met met) const {
    return {occasion_.identity.name, occasion_.number, occasion_.about, step, met};
  }
  /// Ranks between the given one and the leaf that is farthest from it.
  [[nodiscard]] int height(Rank rank) const {
    const Rank count = members_.count();
    const Rank step = rank == 0 ? count : std::min(rank & -rank, count - rank);
    return std::bit_width(static_cast<unsigned>(step - 1));
  }
  /// The ranks above may each wait for one below them that does not come.
  [[nodiscard]] Seconds patience_above() const { return occasion_.patience * (height(0) + 2); }

  /// Without `patience`: as long as it takes.
  std::optional<Letter> hear(Rank rank, Step step, std::optional<Seconds> patience) {
    std::optional<Letter> message;
    Post& post = Post::instance();
    const Seconds over = monotonic_clock() - begin_;
    const Seconds left = patience ? std::max(0.0, *patience - over) : 1e9;
    (void)wait_until(
        [&] {
          message = post.receive(members_.place(rank), head(step, Met::agreed));
          return message.has_value() || post.failed();
        },
        left);
    return message;
  }
  std::optional<Letter> hear_parent(Step step, std::optional<Seconds> patience) {
    return hear(node_.parent, step, patience);
  }
  template <class Merge>
  bool hear_children(Told& told, Merge&& merge) {
    bool all = true;
    for (const TreeNode::Child& child : node_.children) {
      if (!all) break;
      const auto here = hear(child.rank, Step::here, occasion_.patience * (height(child.rank) + 1));
      if (!here) report(child.rank);
      all = here && here->head.met != Met::missed && here->head.about == occasion_.about;
      if (all) merge(told, here->told);
    }
    return all;
  }
  Met hear_acceptance() {
    Met met = Met::agreed;
    for (const TreeNode::Child& child : node_.children) {
      const Seconds so_far = monotonic_clock() - begin_;
      const auto accepts =
          hear(child.rank, Step::accepts, so_far + occasion_.patience * (height(child.rank) + 1));
      met = std::min(met, accepts ? accepts->head.met : Met::missed);
    }
    return met;
  }
  /// Says which rank did not come; one of those that waited for it does.
  void report(Rank rank) const {
    const std::string who = std::to_string(members_.place(rank));
    log_line("rank " + who + " of MPI_COMM_WORLD did not come to link ranks within " +
             std::to_string(std::lround(monotonic_clock() - begin_)) +
             " s: it calls MPI past the drop-in library, or was stopped; the MPI library carries "
             "out the calls of communicators that are not linked yet");
  }
  void tell_parent(Step step, Met met, const Told& told) {
    if (!node_.root()) tell(node_.parent, step, met, told);
  }
  Met tell_children(Step step, Met met, const Told& told) {
    for (auto child = node_.children.rbegin(); child != node_.children.rend(); ++child) {
      tell(child->rank, step, met, told);
    }
    return met;
  }
  void tell(Rank rank, Step step, Met met, const Told& told) {
    Post::instance().send(members_.place(rank), head(step, met), told);
  }

  const Occasion& occasion_;
  const Members& members_;
  TreeNode node_;
  Seconds begin_;
};

}  // namespace

Met meet(const Occasion& occasion, Told& told,
         const std::function<void(Told& all, const Told& theirs)>& merge,
         const std::function<bool(const Told& result)>& accept) {
  if (gave_up) return Met::missed;
  const Met met = Meeting(occasion)(told, merge, accept);
  if (met == Met::missed) gave_up = true;
  return met;
}

bool meets_no_more() { return gave_up; }

}  // namespace latecomer
