#include "runtime/connection/clocks/clock_sync.hpp"

#include <algorithm>
#include <array>

#include "patterns/trees.hpp"
#include "runtime/connection/blocking_channel.hpp"
#include "transports/mpi/link.hpp"

namespace latecomer {
namespace {

// The fewest questions to a parent; where the answers are slow, up to kPatience times as many.
constexpr std::size_t kSetUpQuestions = 12;
constexpr std::size_t kRefreshQuestions = 4;
constexpr std::size_t kPatience = 3;
constexpr Seconds kShort = 80e-6;  // of a round trip: it bounds the error well enough

/// The messages: doubles, so that each number has 8 bytes.
using Question = std::array<double, 2>;  // 1: a question, 0: no more follow; unused
using Answer = std::array<double, 2>;    // common time, its error
using Model = std::array<double, 5>;

Model pack(const ClockModel& model) {
  return {model.origin, model.offset, model.error, model.drift, model.drift_error};
}

ClockModel unpack(const Model& m) { return {m[0], m[1], m[2], m[3], m[4]}; }

bool enough(const std::vector<ClockSample>& samples, std::size_t fewest) {
  if (samples.size() < fewest) return false;
  if (samples.size() >= kPatience * fewest) return true;
  return std::any_of(samples.begin(), samples.end(), [](const ClockSample& sample) {
    return sample.answered - sample.asked <= kShort;
  });
}

class ClockSync {
 public:
  ClockSync(CommResources& resources, const WaitOptions& options, std::size_t questions)
      : channel_(resources, options, Tags::kClock, "to set the clock",
                 BlockingChannel::When::between_calls),
        clocks_(resources.clocks),
        questions_(questions) {
    me_ = resources.comm->link().me();
  }

  Outcome operator()() {
    const ClockGroups& groups = clocks_.groups();
    const bool one_clock = groups.leaders.size() == 1;
    if (me_ == 0 || one_clock) clocks_.take({});
    if (one_clock) return {};
    descend(groups.leaders, &ClockSync::ask, &ClockSync::answer);
    descend(groups.mates, &ClockSync::copy, &ClockSync::hand_on);
    return channel_.outcome();
  }

 private:
  using Step = void (ClockSync::*)(Rank);

  /// Learns from the parent, then teaches the children, those with the deepest subtrees first.
  void descend(const std::vector<Rank>& ranks, Step learn, Step teach) {
    const auto place = std::find(ranks.begin(), ranks.end(), me_);
    if (place == ranks.end()) return;
    const TreeNode node =
        binomial_node(static_cast<Rank>(ranks.size()), static_cast<Rank>(place - ranks.begin()));
    const auto rank = [&](Rank position) { return ranks[static_cast<std::size_t>(position)]; };
    if (!node.root()) (this->*learn)(rank(node.parent));
    for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
      if (!channel_.failed()) (this->*teach)(rank(child->rank));
    }
  }

  void ask(Rank peer) {
    std::vector<ClockSample> samples;
    Seconds peer_error = 0;
    while (!channel_.failed() && !enough(samples, questions_)) {
      Answer got{};
      const Seconds asked = clocks_.local();
      channel_.send(peer, Question{1, 0});
      channel_.receive(peer, got);
      samples.push_back({asked, got[0], clocks_.local()});
      peer_error = std::max(peer_error, got[1]);
    }
    channel_.send(peer, Question{0, 0});
    if (!channel_.failed()) clocks_.learn(fit(samples, peer_error));
  }

  void answer(Rank peer) {
    for (;;) {
      Question question{};
      channel_.receive(peer, question);
      if (channel_.failed() || question[0] == 0) return;
      const Seconds local = clocks_.local();
      channel_.send(peer, Answer{clocks_.common(local), clocks_.model().error_at(local)});
    }
  }

  void copy(Rank leader) {
    Model model{};
    channel_.receive(leader, model);
    if (!channel_.failed()) clocks_.take(unpack(model));
  }

  void hand_on(Rank mate) { channel_.send(mate, pack(clocks_.model())); }

  BlockingChannel channel_;
  Clocks& clocks_;
  std::size_t questions_;
  int me_ = 0;
};

Outcome synchronize(CommResources& resources, const WaitOptions& options, std::size_t questions) {
  return ClockSync(resources, options, questions)();
}

}  // namespace

Outcome set_up_clocks(CommResources& resources, const WaitOptions& options) {
  return synchronize(resources, options, kSetUpQuestions);
}

Outcome refresh_clocks(CommResources& resources, const WaitOptions& options) {
  return synchronize(resources, options, kRefreshQuestions);
}

}  // namespace latecomer
