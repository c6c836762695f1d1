// Two communicators of the same processes that are linked at the same time by two threads, in all
// orders of events.
#include "agreement/slots.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <tuple>

#include "agreement/meeting_rank.hpp"
#include "unit/explore.hpp"
#include "unit/futures.hpp"

namespace latecomer {
namespace {

/// Each rank tells the slot that it proposes; the result is the largest.
void largest(Told& all, const Told& theirs) { all[0] = std::max(all[0], theirs[0]); }

class LinkWorld {
 public:
  struct Event {
    std::size_t link;
    Rank rank;
  };

  LinkWorld(Rank processes, const std::vector<std::uint64_t>& names, bool reuses)
      : reuses_(reuses), slots_(static_cast<std::size_t>(processes)) {
    for (const std::uint64_t name : names) {
      links_.emplace_back(static_cast<std::size_t>(processes), Member{SlotSearch(name)});
    }
  }

  [[nodiscard]] std::vector<Event> events() const {
    std::vector<Event> all;
    for (std::size_t link = 0; link < links_.size(); ++link) {
      for (Rank rank = 0; rank < static_cast<Rank>(slots_.size()); ++rank) {
        const Member& member = links_[link][static_cast<std::size_t>(rank)];
        if (member.ended) continue;
        const bool acts = !member.meeting || member.meeting->asked();
        if (acts || box_.contains(awaited(link, rank))) all.push_back({link, rank});
      }
    }
    return all;
  }

  /// As link_by_meeting() does.
  void happen(const Event& event) {
    const auto& [link, rank] = event;
    Slots& slots = slots_[static_cast<std::size_t>(rank)];
    Member& member = at(event);
    if (!member.meeting) {
      const Slot proposed = slots.propose(member.search.above());
      member.meeting.emplace(static_cast<Rank>(slots_.size()), rank, 7, 1.0,
                             Told{static_cast<char>(proposed)}, largest);
      act(event, member.meeting->come());
    } else if (member.meeting->asked()) {
      member.slot = static_cast<Slot>(member.meeting->told()[0]);
      member.taken = slots.take(member.slot);
      act(event, member.meeting->answer(member.taken || reuses_, 0));
    } else {
      const auto letter = box_.find(awaited(link, rank));
      const MeetingRank::Message message = letter->second;
      box_.erase(letter);
      act(event, member.meeting->hear(message, 0));
    }
    if (!member.meeting->over()) return;
    member.linked = member.meeting->met() == Met::agreed;
    if (!member.linked && member.taken) slots.give_back(member.slot);
    member.ended = member.linked || !member.search.go_on(member.slot);
    member.meeting.reset();
  }

  /// In words; empty: there is none.
  [[nodiscard]] std::string mistake() const {
    for (std::size_t rank = 0; rank < slots_.size(); ++rank) {
      for (std::size_t link = 0; link < links_.size(); ++link) {
        const Member& mine = links_[link][rank];
        const Member& first = links_[link].front();
        if (!mine.ended) continue;
        if (first.ended && (mine.linked != first.linked || mine.slot != first.slot)) {
          return "ranks end otherwise";
        }
        const Member& other = links_[1 - link][rank];
        if (mine.linked && other.linked && mine.slot == other.slot) return "a slot is used twice";
      }
    }
    return "";
  }
  [[nodiscard]] bool all_linked() const {
    for (const auto& link : links_) {
      for (const Member& member : link) {
        if (!member.linked) return false;
      }
    }
    return true;
  }
  [[nodiscard]] std::string key() const {
    std::string text;
    const auto add = [&](auto number) { text.push_back(static_cast<char>(number)); };
    for (const Slots& slots : slots_) {
      for (const Count part : future_of(slots)) add(part);
      add(-1);
    }
    for (const auto& link : links_) {
      for (const Member& member : link) {
        add(member.search.tries()), add(member.search.above()), add(member.slot);
        add(member.taken), add(member.ended), add(member.linked), add(member.meeting.has_value());
        if (!member.meeting) continue;
        for (const Count part : future_of(*member.meeting)) add(part);
        add(member.meeting->told()[0]);
      }
    }
    for (const auto& [way, message] : box_) {
      const auto& [link, tries, from, to, step] = way;
      add(link), add(tries), add(from), add(to), add(step), add(message.met);
      add(message.told.empty() ? 0 : message.told[0]);
    }
    return text;
  }

 private:
  struct Member {
    SlotSearch search;
    std::optional<MeetingRank> meeting = {};
    Slot slot = 0;
    bool taken = false;
    bool linked = false;
    bool ended = false;
  };
  using Way =
      std::tuple<std::size_t, int, Rank, Rank, MeetingRank::Step>;  // link, meeting, from, to

  [[nodiscard]] Member& at(const Event& event) {
    return links_[event.link][static_cast<std::size_t>(event.rank)];
  }
  [[nodiscard]] Way awaited(std::size_t link, Rank rank) const {
    const Member& member = links_[link][static_cast<std::size_t>(rank)];
    const MeetingRank::Awaited awaited = member.meeting->awaited();
    return {link, member.search.tries(), awaited.from, rank, awaited.step};
  }
  void act(const Event& event, const MeetingRank::Actions& actions) {
    for (const auto& [to, message] : actions.tell) {
      box_[{event.link, at(event).search.tries(), event.rank, to, message.step}] = message;
    }
  }

  bool reuses_;               // a fault: ranks accept slots that they have used
  std::vector<Slots> slots_;  // by process
  std::vector<std::vector<Member>> links_;
  std::map<Way, MeetingRank::Message> box_;
};

std::string mistake_of_links(Rank processes, bool reuses, std::size_t& worlds) {
  std::string mistake;
  worlds += testing::explore(LinkWorld(processes, {1000003, 77777777}, reuses),
                             [&](const LinkWorld& world, const auto& events) {
                               mistake = world.mistake();
                               if (mistake.empty() && events.empty() && !world.all_linked()) {
                                 mistake = "not linked";
                               }
                               return mistake.empty();
                             });
  return mistake;
}

TEST(Slots, InAllOrdersOfEventsTwoLinksOfTheSameProcessesGetOneEach) {
  std::size_t worlds = 0;
  EXPECT_EQ(mistake_of_links(2, false, worlds), "");
  EXPECT_EQ(mistake_of_links(3, false, worlds), "");
  RecordProperty("worlds", static_cast<int>(worlds));
}

TEST(Slots, ASlotThatIsAcceptedThoughItIsTakenIsUsedTwice) {
  std::size_t worlds = 0;
  EXPECT_EQ(mistake_of_links(2, true, worlds), "a slot is used twice");
}

}  // namespace
}  // namespace latecomer
