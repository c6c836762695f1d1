#include "verify/execution.hpp"

#include <algorithm>
#include <utility>

#include "base/threads.hpp"

namespace latecomer::verifier {
namespace {

/// The position of one rank in its program.
struct Position {
  struct InFlight {
    std::size_t posted = 0;  // the first so many operations of the channel
    std::uint32_t in_flight = 0;
  };

  Position(const Program& program, const std::vector<Channel>& channels)
      : missing(program.operations.size()),
        posted(program.operations.size()),
        dependents(program.operations.size()),
        turn(program.operations.size()),
        postings(channels.size()) {
    for (OpIndex i = 0; i < program.operations.size(); ++i) {
      missing[i] = program.after[i].size();
      for (const OpIndex earlier : program.after[i]) dependents[earlier].push_back(i);
      if (program.operations[i].kind == OpKind::recv) add_receive(program, i);
    }
    std::reverse(receives.begin(), receives.end());
  }

  void add_receive(const Program& program, OpIndex index) {
    const bool same = !receives.empty() &&
                      program.operations[receives.back()].peer == program.operations[index].peer;
    turn[index] = receives.empty() ? 0 : turn[receives.back()] + (same ? 0 : 1);
    receives.push_back(index);
  }

  std::vector<std::size_t> missing;  // dependencies not yet done
  std::vector<bool> posted;
  std::vector<std::vector<OpIndex>> dependents;
  std::vector<std::uint32_t> turn;  // of receives: counts changes of the peer
  std::vector<InFlight> postings;   // per channel
  std::vector<OpIndex> receives;    // not done, the next of the program last
};

class Run {
 public:
  Run(Programs programs, const Messages& messages, const Posting& posting)
      : programs_(programs),
        messages_(messages),
        posting_(posting),
        flags_(programs),
        counts_(flags_.size()) {
    for (std::size_t r = 0; r < programs.size(); ++r) {
      ranks_.emplace_back(programs[r], messages.channels[r]);
      execution_.done.emplace_back(programs[r].operations.size());
      operations_ += programs[r].operations.size();
    }
  }

  Execution run() {
    for (const Program& program : programs_) {
      for (OpIndex i = 0; i < program.operations.size(); ++i) {
        if (program.after[i].empty()) ready({program.me, i});
      }
    }
    for (std::size_t next = 0; next < finished_.size(); ++next) release(finished_[next]);
    execution_.complete = finished_.size() == operations_;
    return std::move(execution_);
  }

 private:
  void finish(Step at) {
    execution_.done[at.rank][at.index] = true;
    finished_.push_back(at);
  }

  void ready(Step at) {
    if (is_message(operation_of(programs_, at))) {
      post(at.rank, messages_.channel_of[at.rank][at.index]);
    } else if (operation_of(programs_, at).kind == OpKind::await) {
      counter_of(at).awaits.push_back(at);
      pass_awaits(counter_of(at));
    } else {
      step(at);
      if (has_flag(operation_of(programs_, at))) count(counter_of(at));
    }
  }

  void step(Step at) {
    execution_.steps.push_back(at);
    finish(at);
  }

  /// A flag, and the awaits of it that are not done.
  struct Counter {
    Rank count = 0;
    std::vector<Step> awaits;
  };

  Counter& counter_of(Step at) {
    return counts_[flags_.number(programs_[at.rank], operation_of(programs_, at).flag)];
  }

  void count(Counter& counter) {
    ++counter.count;
    pass_awaits(counter);
  }

  void pass_awaits(Counter& counter) {
    std::erase_if(counter.awaits, [&](Step at) {
      const bool passes = operation_of(programs_, at).count <= counter.count;
      if (passes) step(at);
      return passes;
    });
  }

  void release(Step at) {
    interruption_point();
    if (is_message(operation_of(programs_, at))) {
      const std::uint32_t channel = messages_.channel_of[at.rank][at.index];
      --ranks_[at.rank].postings[channel].in_flight;
      post(at.rank, channel);
      if (operation_of(programs_, at).kind == OpKind::recv) next_peer(at.rank);
    }
    for (const OpIndex later : ranks_[at.rank].dependents[at.index]) {
      if (--ranks_[at.rank].missing[later] == 0) ready({at.rank, later});
    }
  }

  /// Posts receives of another peer if it has its turn now.
  void next_peer(Rank rank) {
    auto& receives = ranks_[rank].receives;
    while (!receives.empty() && execution_.done[rank][receives.back()]) receives.pop_back();
    if (!receives.empty()) post(rank, messages_.channel_of[rank][receives.back()]);
  }

  [[nodiscard]] bool has_its_turn(Step at) const {
    if (!posting_.one_peer || operation_of(programs_, at).kind != OpKind::recv) return true;
    const Position& position = ranks_[at.rank];
    return position.turn[at.index] == position.turn[position.receives.back()];
  }

  void post(Rank rank, std::uint32_t number) {
    Position& position = ranks_[rank];
    const Channel& channel = messages_.channels[rank][number];
    Position::InFlight& posting = position.postings[number];
    while (posting.in_flight < posting_.window && posting.posted < channel.operations.size()) {
      const OpIndex index = channel.operations[posting.posted];
      if (position.missing[index] != 0 || !has_its_turn({rank, index})) return;
      ++posting.posted;
      ++posting.in_flight;
      position.posted[index] = true;
      const Step partner{channel.peer, messages_.partner[rank][index]};
      if (ranks_[partner.rank].posted[partner.index]) move({rank, index}, partner);
    }
  }

  void move(Step one, Step other) {
    execution_.steps.push_back(operation_of(programs_, one).kind == OpKind::recv ? one : other);
    finish(one);
    finish(other);
  }

  Programs programs_;
  const Messages& messages_;
  Posting posting_;
  Flags flags_;
  std::vector<Counter> counts_;  // per flag
  std::vector<Position> ranks_;
  std::size_t operations_ = 0;
  std::vector<Step> finished_;  // also the queue of operations yet to be released
  Execution execution_;
};

/// Names the operations that are stuck after an incomplete execution.
class Stuck {
 public:
  Stuck(Programs programs, const Messages& messages, const Execution& execution)
      : programs_(programs), messages_(messages), execution_(execution), flags_(programs) {}

  std::string text() const {
    std::string text;
    Step last{};
    int shown = 0;
    for (const Program& program : programs_) {
      const Step first = first_undone(program);
      if (first.index == program.operations.size()) continue;
      last = first;
      if (++shown <= kShown) text += sentence(first) + "; ";
    }
    if (shown > kShown) text += "and so for " + quantity(shown - kShown, "further rank") + "; ";
    return text + "cycle: " + cycle(last);
  }

 private:
  static constexpr int kShown = 8;
  static constexpr std::size_t kCycleShown = 24;

  bool undone(Step at) const { return !execution_.done[at.rank][at.index]; }

  Step first_undone(const Program& program) const {
    Step at{program.me, 0};
    while (at.index < program.operations.size() && !undone(at)) ++at.index;
    return at;
  }

  /// The rank must have one.
  Step first_undone_receive(Rank rank) const {
    Step at{rank, 0};
    while (operation_of(programs_, at).kind != OpKind::recv || !undone(at)) ++at.index;
    return at;
  }

  /// The signals and accumulates not done that an await waits for.
  std::vector<Step> missing_counts(Step at) const {
    std::vector<Step> missing;
    const std::uint32_t flag = flags_.number(programs_[at.rank], operation_of(programs_, at).flag);
    for (const Step counted : flags_.counting(flag)) {
      if (undone(counted)) missing.push_back(counted);
    }
    return missing;
  }

  std::pair<Step, std::string> cause_of_await(Step at) const {
    const std::vector<Step> missing = missing_counts(at);
    const std::string flag = flag_text(programs_[at.rank], operation_of(programs_, at).flag);
    if (missing.empty()) return {at, "waits for more than all counts of " + flag + ':'};
    std::string ranks;
    for (std::size_t i = 0; i < missing.size() && i < kShown; ++i) {
      if (i == 0 || missing[i].rank != missing[i - 1].rank) {
        ranks += (i == 0 ? "" : ", ") + std::to_string(missing[i].rank);
      }
    }
    if (missing.size() > kShown) ranks += ", ...";
    return {missing.front(), "waits for " + flag + ", on which rank " + ranks + " must count:"};
  }

  /// The reason why an operation is not done: a dependency, its flag, its turn, or its partner.
  std::pair<Step, std::string> cause(Step at) const {
    for (const OpIndex earlier : programs_[at.rank].after[at.index]) {
      if (undone({at.rank, earlier})) return {{at.rank, earlier}, "depends on"};
    }
    if (operation_of(programs_, at).kind == OpKind::await) return cause_of_await(at);
    const auto& channel = messages_.channels[at.rank][messages_.channel_of[at.rank][at.index]];
    if (operation_of(programs_, at).kind == OpKind::recv) {
      const Step first = first_undone_receive(at.rank);
      if (operation_of(programs_, first).peer != operation_of(programs_, at).peer)
        return {first, "comes in turn after"};
    }
    for (const OpIndex earlier : channel.operations) {
      if (earlier == at.index) break;
      if (undone({at.rank, earlier})) return {{at.rank, earlier}, "comes in turn after"};
    }
    return {{channel.peer, messages_.partner[at.rank][at.index]}, "waits for its partner"};
  }

  std::string sentence(Step at) const {
    const auto [next, why] = cause(at);
    return place(programs_, at) + ' ' + why + ' ' + place(programs_, next);
  }

  /// Every operation that is not done waits for another such one, so the causes end in a cycle.
  std::string cycle(Step at) const {
    std::vector<std::vector<bool>> met;
    for (const Program& program : programs_) met.emplace_back(program.operations.size());
    for (; !met[at.rank][at.index]; at = cause(at).first) met[at.rank][at.index] = true;
    const Step start = at;
    std::string text;
    std::size_t length = 0;
    do {
      if (++length <= kCycleShown) text += place(programs_, at) + " -> ";
      at = cause(at).first;
    } while (at.rank != start.rank || at.index != start.index);
    if (length > kCycleShown) {
      text += quantity(static_cast<Count>(length - kCycleShown), "further operation") + " -> ";
    }
    return text + "the first again";
  }

  Programs programs_;
  const Messages& messages_;
  const Execution& execution_;
  Flags flags_;
};

}  // namespace

Execution execute(Programs programs, const Messages& messages, const Posting& posting) {
  return Run(programs, messages, posting).run();
}

Finding check_deadlock(Programs programs, const Messages& messages, Execution& execution) {
  execution = execute(programs, messages, {});
  if (execution.complete) return {};
  std::string when = "with every window: ";
  if (execute(programs, messages, {.window = kUnbounded, .one_peer = false}).complete) {
    const bool window = execute(programs, messages, {.window = 1, .one_peer = false}).complete;
    when = window ? "where one peer at a time is received from: " : "only with a window of 1: ";
  }
  return Counterexample{"deadlock", when + Stuck(programs, messages, execution).text()};
}

}  // namespace latecomer::verifier
