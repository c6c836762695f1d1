#include "runtime/connection/control.hpp"

#include <algorithm>

namespace latecomer {
void Control::go_on_after(std::uint64_t position, std::uint64_t calls) {
  earlier_ = position;
  earlier_calls_ = calls;
  history_.fill({});
  here_ = {position + 1, calls + 1};
}

void Control::be_at(const Place& place) {
  here_ = place;
  asked_.clear();
  if (place.part == Part::none) return;
  history_[noted_++ % kHistory] = place;
}

void Control::come(std::uint64_t position, std::uint64_t call) { be_at({position, call}); }

void Control::enter(Part part, std::uint64_t plan_hash) {
  be_at({here_.position, here_.call, part, plan_hash});
}

std::optional<std::string> Control::leave(std::uint64_t position) {
  be_at({position, here_.call, Part::left});
  receive();
  for (const Received& received : unread_) {
    if (received.letter.kind != kAsk || to_come(received.letter)) continue;
    if (auto wrong = judge(received)) return wrong;
  }
  return std::nullopt;
}

void Control::ask(Rank peer) {
  if (std::find(asked_.begin(), asked_.end(), peer) != asked_.end()) return;
  asked_.push_back(peer);
  send(peer, kAsk);
}

void Control::alarm() {
  int me = 0;
  int ranks = 0;
  PMPI_Comm_rank(comm_, &me);
  PMPI_Comm_size(comm_, &ranks);
  for (Rank peer = 0; peer < ranks; ++peer) {
    if (peer != me) send(peer, kAlarm);
  }
}

void Control::send(Rank peer, Kind kind) {
  const Letter letter{kind, here_};
  mailbox_.send(peer, &letter, sizeof letter);
}

void Control::receive() {
  while (const auto envelope = mailbox_.receive()) {
    const auto letter = envelope->as<Letter>();
    if (letter) unread_.push_back({envelope->from, *letter});
  }
}

std::optional<std::string> Control::read() {
  receive();
  std::optional<std::string> wrong;
  const auto is_past = [&](const Received& received) {
    if (received.letter.kind == kAsk && to_come(received.letter)) return false;
    if (!wrong) wrong = judge(received);
    return true;
  };
  unread_.erase(std::remove_if(unread_.begin(), unread_.end(), is_past), unread_.end());
  return wrong;
}

/// This rank may still do what the letter asks about.
bool Control::to_come(const Letter& letter) const {
  const Place& place = letter.from;
  return place.position > here_.position ||
         (place.position == here_.position && here_.part < std::max(place.part, Part::plan));
}

/// Letters of an unknown kind say nothing.
std::optional<std::string> Control::judge(const Received& received) const {
  const Letter& letter = received.letter;
  const bool another_communicators = earlier_ > 0 && letter.from.position <= earlier_;
  if (letter.kind > kAlarm || another_communicators) return std::nullopt;
  const std::string who = "rank " + std::to_string(received.from);
  const std::string where = " in call " + std::to_string(letter.from.call - earlier_calls_);
  if (letter.kind == kAlarm) return who + " failed" + where;
  for (const Place& place : history_) {
    if (place.position != letter.from.position) continue;
    if (place.part == Part::left) {
      return who + " waits" + where + ", which this rank left to the MPI library";
    }
    if (place.part == letter.from.part && place.plan_hash != letter.from.plan_hash) {
      return who + " follows another plan than this rank" + where;
    }
  }
  return std::nullopt;
}

}  // namespace latecomer
