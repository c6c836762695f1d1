#include "algorithms/owners/online_rank.hpp"

#include <algorithm>

namespace latecomer::owners {
namespace {

/// Blocks to send, and to receive, that the timetable should have.
constexpr std::size_t kAtHand = 4;

}  // namespace

OnlineRank::OnlineRank(const OnlineCall& call, Rank me)
    : me_(me),
      call_(call),
      log_(call, me),
      table_(call.ranks, call.blocks, call.combines),
      expected_(static_cast<std::size_t>(call.blocks), 0),
      here_(static_cast<std::size_t>(call.blocks), 0),
      giving_(static_cast<std::size_t>(call.blocks), false) {}

void OnlineRank::arrive(Step& step) {
  log_.arrive(step.tell);
  go_on(step);
}

void OnlineRank::hear(Rank from, const LogMessage& message, Step& step) {
  log_.hear(from, message, step.tell);
  go_on(step);
}

void OnlineRank::sent(std::size_t send, Step& step) {
  const OwnHop& own = sends_[send];
  ++send_over_;
  if (!own.hop.final) giving_[own.hop.block] = false;
  go_on(step);
}

void OnlineRank::received(std::size_t receive, Step& step) {
  ++receive_here_;
  if (receives_[receive].hop.final) return combined(receive, step);
  go_on(step);
}

void OnlineRank::combined(std::size_t receive, Step& step) {
  OwnHop& own = receives_[receive];
  ++receive_over_;
  ++here_[own.hop.block];
  if (!own.hop.final) ++contributions_combined_;
  own.over = true;
  go_on(step);
}

void OnlineRank::go_on(Step& step) {
  do {
    extend();
    log_.finish(rounds_over(), step.tell);
  } while (log_.advance(!table_.dry(), step.tell));
  const bool sends = send_posted_ > send_over_;
  if (!sends && send_posted_ < sends_.size() && may_send(sends_[send_posted_])) {
    step.send.push_back(send_posted_++);
  }
  const bool receives = receive_posted_ > receive_here_;
  if (!receives && receive_posted_ < receives_.size() && may_receive(receives_[receive_posted_])) {
    step.receive.push_back(receive_posted_++);
  }
}

/// All rounds before it are over on this rank, as far as they are known.
Count OnlineRank::rounds_over() {
  Count over = log_.horizon();
  if (send_over_ < sends_.size()) over = sends_[send_over_].hop.round;
  while (first_receive_ < receives_.size() && receives_[first_receive_].over) ++first_receive_;
  if (first_receive_ < receives_.size()) {
    over = std::min(over, receives_[first_receive_].hop.round);
  }
  return over;
}

/// All earlier contributions must be combined with it, or the result must be here.
bool OnlineRank::may_send(const OwnHop& own) const { return here_[own.hop.block] == own.earlier; }

/// A result is received where the contribution was, which must have left. It may be over before
/// earlier contributions are combined, and frees no landing.
bool OnlineRank::may_receive(const OwnHop& own) const {
  if (own.hop.final) return !giving_[own.hop.block];
  return own.number < contributions_combined_ + kLandings;
}

/// Extends the timetable up to the horizon or, when all ranks have arrived, as far as this rank
/// needs it now: the rest is computed while blocks move.
void OnlineRank::extend() {
  const auto& entries = log_.entries();
  for (; in_table_ < entries.size(); ++in_table_) {
    table_.fill_until(entries[in_table_].round);
    table_.add(entries[in_table_].rank);
  }
  if (!log_.complete()) {
    table_.fill_until(log_.horizon());
    return note_hops();
  }
  note_hops();
  while (!table_.complete() && !table_.dry() &&
         (sends_.size() - send_posted_ < kAtHand || receives_.size() - receive_posted_ < kAtHand)) {
    table_.fill();
    note_hops();
  }
}

void OnlineRank::note_hops() {
  for (; noted_ < table_.hops().size(); ++noted_) {
    const Hop& hop = table_.hops()[noted_];
    const auto block = static_cast<std::size_t>(hop.block);
    if (hop.from == me_) {
      sends_.push_back({hop, expected_[block], 0, false});
      if (!hop.final) giving_[block] = true;
    }
    if (hop.to != me_) continue;
    receives_.push_back({hop, expected_[block]++, contributions_noted_, false});
    if (!hop.final) ++contributions_noted_;
  }
}

bool OnlineRank::done() const {
  return log_.complete() && table_.complete() && noted_ == table_.hops().size() &&
         send_over_ == sends_.size() && receive_over_ == receives_.size();
}

std::string OnlineRank::waiting_for() const {
  if (!log_.entered()) {
    return "for " + name(call_.coordinator) + ", which orders arrivals";
  }
  std::string text;
  const auto add = [&](const char* what, Rank peer) {
    text += (text.empty() ? "" : ", ") + std::string(what) + name(peer);
  };
  if (send_posted_ > send_over_) add("to send to ", sends_[send_over_].hop.to);
  for (std::size_t i = 0; i < receive_posted_; ++i) {
    if (!receives_[i].over) add("to receive from ", receives_[i].hop.from);
  }
  std::vector<bool> here(static_cast<std::size_t>(call_.ranks), false);
  for (const LogEntry& entry : log_.entries()) here[entry.rank] = true;
  for (Rank rank = 0; rank < call_.ranks; ++rank) {
    if (!here[rank]) add("for the arrival of ", rank);
  }
  return text;
}

std::vector<Count> OnlineRank::state() const {
  std::vector<Count> all = log_.state();
  for (const std::size_t each :
       {sends_.size(), send_posted_, send_over_, receive_posted_, receive_here_}) {
    all.push_back(static_cast<Count>(each));
  }
  for (const OwnHop& own : receives_) all.push_back(own.over);
  return all;
}

}  // namespace latecomer::owners
