#include "agreement/notices.hpp"

#include <algorithm>
#include <string_view>

namespace latecomer {

void Notices::continue_after(std::uint64_t position, std::uint64_t calls) {
  earlier_ = position;
  earlier_calls_ = calls;
  history_.fill({});
  here_ = {position + 1, calls + 1};
}

void Notices::set_place(const Place& place) {
  here_ = place;
  asked_.clear();
  if (place.part == Part::none) announced_ = false;
  if (place.part == Part::announcement) announced_ = true;
  if (place.part <= Part::announcement) return;
  history_[noted_++ % kHistory] = {place, announced_};
}

void Notices::enter_call(std::uint64_t position, std::uint64_t call) {
  set_place({position, call});
}

void Notices::enter_part(Part part, std::uint64_t plan_hash) {
  set_place({here_.position, here_.call, part, plan_hash});
}

void Notices::leave_to_library(std::uint64_t position) {
  set_place({position, here_.call, Part::left});
}

void Notices::come_back() {
  history_[--noted_ % kHistory] = {};
  here_ = {here_.position - 1, here_.call, Part::left};
}

std::optional<Notices::Notice> Notices::ask(Rank peer) {
  if (std::ranges::find(asked_, peer) != asked_.end()) return std::nullopt;
  asked_.push_back(peer);
  return Notice{kAsk, here_};
}

bool Notices::has_failed(Rank peer) const {
  return std::ranges::find(failed_, peer) != failed_.end();
}

void Notices::hear(Rank from, const Notice& notice) {
  unread_.push_back({from, notice});
  if (notice.kind == kFailed && !is_earlier_communicators(notice)) failed_.push_back(from);
}

std::optional<std::string> Notices::check() {
  std::optional<std::string> wrong;
  const auto is_past = [&](const Received& received) {
    if (concerns_later(received.notice)) return false;
    if (!wrong) wrong = trouble_of(received);
    return true;
  };
  unread_.erase(std::remove_if(unread_.begin(), unread_.end(), is_past), unread_.end());
  return wrong;
}

std::optional<std::string> Notices::check_left() {
  for (const Received& received : unread_) {
    if (received.notice.kind != kAsk || is_ahead(received.notice)) continue;
    if (auto wrong = trouble_of(received)) return wrong;
  }
  return std::nullopt;
}

std::optional<std::string> Notices::trouble_of(const Received& received) {
  auto wrong = conflict_of(received);
  if (wrong && received.notice.from.position < trouble_.position) trouble_ = received.notice.from;
  return wrong;
}

Notices::Notice Notices::failure() const {
  return {kFailed, trouble_.position < here_.position ? trouble_ : here_};
}

/// True if it may concern a call or a part that this rank has not come to. Who fails has ended the
/// calls before, so these end on all ranks: in the MPI library others may wait for this rank.
bool Notices::concerns_later(const Notice& notice) const {
  return notice.kind == kFailed ? notice.from.position > here_.position : is_ahead(notice);
}

/// True if this rank may still reach the notice's place. With a plan it reaches no announcement.
bool Notices::is_ahead(const Notice& notice) const {
  const Place& place = notice.from;
  return place.position > here_.position ||
         (place.position == here_.position && here_.part < std::max(place.part, Part::memory));
}

/// Returns the conflict that a notice reveals. Notices of unknown kinds are ignored.
std::optional<std::string> Notices::conflict_of(const Received& received) const {
  const Notice& notice = received.notice;
  if (notice.kind > kFailed || is_earlier_communicators(notice)) return std::nullopt;
  const auto says = [&](std::string_view what, std::string_view rest) {
    std::string text = "rank " + std::to_string(received.from);
    text += what;
    text += " in call " + std::to_string(notice.from.call - earlier_calls_);
    text += rest;
    return text;
  };
  if (notice.kind == kFailed) return says(" failed", "");
  bool same = false;
  bool other = false;
  for (const auto& [place, announced] : history_) {
    if (place.position != notice.from.position) continue;
    if (place.part == Part::left) {
      return says(" waits", ", which this rank left to the MPI library");
    }
    if (notice.from.part == Part::announcement && !announced) {
      return says(
          " waits",
          " for rank 0 to announce a plan, and this rank made its own: do the counts differ?");
    }
    // A rank that needs no memory, or has it, is in no agreement on memory.
    const bool compared = place.part == notice.from.part ||
                          (place.part == Part::plan && notice.from.part == Part::memory);
    if (compared) (place.plan_hash == notice.from.plan_hash ? same : other) = true;
  }
  if (other && !same) return says(" follows another plan than this rank", "");
  return std::nullopt;
}

}  // namespace latecomer
