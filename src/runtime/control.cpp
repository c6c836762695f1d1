#include "runtime/control.hpp"

#include <algorithm>

namespace latecomer {
namespace {

constexpr std::size_t kHistory = 16;

}  // namespace

void Control::enter(std::uint64_t call, std::uint64_t plan_hash) {
  history_.push_back({call, plan_hash});
  if (history_.size() > kHistory) history_.pop_front();
  asked_.clear();
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
  const Letter letter{kind, now().call, now().plan_hash};
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
    if (received.letter.kind == kAsk && received.letter.call > now().call) return false;
    if (!wrong) wrong = judge(received);
    return true;
  };
  unread_.erase(std::remove_if(unread_.begin(), unread_.end(), is_past), unread_.end());
  return wrong;
}

/// Letters of an unknown kind say nothing.
std::optional<std::string> Control::judge(const Received& received) const {
  const Letter& letter = received.letter;
  if (letter.kind > kAlarm || letter.call < earlier_) return std::nullopt;
  const std::string who = "rank " + std::to_string(received.from);
  const std::string where = " in call " + std::to_string(letter.call - earlier_);
  if (letter.kind == kAlarm) return who + " failed" + where;
  for (const Entered& entered : history_) {
    if (entered.call == letter.call && entered.plan_hash != letter.plan_hash) {
      return who + " follows another plan than this rank" + where;
    }
  }
  return std::nullopt;
}

}  // namespace latecomer
