// The words of a node's memory in all orders of their loads and stores, with all old values that
// loads may return (stale_memory.hpp).
#include "transports/node/node_words.hpp"

#include <gtest/gtest.h>

#include <array>

#include "base/reproducible.hpp"
#include "reference/sweeps.hpp"
#include "unit/explore.hpp"
#include "unit/transports/node/stale_memory.hpp"

namespace latecomer {
using testing::StaleWorld;

// Not in the anonymous namespace, since templates of the shipped code are made with them.
namespace node_words_test {

inline std::memory_order as_shipped(std::memory_order order) { return order; }
inline std::memory_order never_consistent(std::memory_order order) {
  return order == std::memory_order_seq_cst ? std::memory_order_acq_rel : order;
}
inline std::memory_order never_acquire(std::memory_order order) {
  return order == std::memory_order_acquire ? std::memory_order_relaxed : order;
}

template <class T>
using AsShipped = testing::StaleWord<T, as_shipped>;
template <class T>
using NeverConsistent = testing::StaleWord<T, never_consistent>;
template <class T>
using NeverAcquire = testing::StaleWord<T, never_acquire>;

}  // namespace node_words_test

namespace {

using namespace node_words_test;

/// The ranks of a node, and what each of them does.
template <template <class> class Atomic>
class Node {
 public:
  using Words = NodeWords<Atomic>;

  Node(std::size_t mates, const std::function<void(Words&, std::size_t me)>& part) {
    StaleWorld::words_made = 0;
    cells_ = std::make_unique<std::array<typename Words::Cell, kMost>>();
    flag_ = std::make_unique<typename Words::Flag>();
    for (std::size_t me = 0; me < mates; ++me) {
      programs_.push_back([this, mates, me, part] {
        Words words(cells_->data(), mates, me, flag_.get());
        part(words, me);
      });
    }
  }

  [[nodiscard]] StaleWorld begin() const {
    return {programs_, StaleWorld::words_made, programs_.size()};
  }
  struct Found {
    std::string mistake;  // empty: there is none
    std::size_t worlds = 0;
  };
  /// Until the first mistake.
  [[nodiscard]] Found explore() const {
    Found found;
    found.worlds = testing::explore(begin(), [&](const StaleWorld& world, const auto& events) {
      found.mistake = world.mistake();
      if (events.empty() && !world.over() && found.mistake.empty()) found.mistake = "stuck";
      return found.mistake.empty();
    });
    return found;
  }

 private:
  static constexpr std::size_t kMost = 4;

  std::unique_ptr<std::array<typename Words::Cell, kMost>> cells_;
  std::unique_ptr<typename Words::Flag> flag_;
  StaleWorld::Programs programs_;
};

/// Sleeps at most once, and then looks without end.
template <class Words>
void wait(Words& words, Rank count, bool sleeps) {
  if (sleeps && !words.reached(0, count)) words.sleep_until(0, count, 1e9);
  StaleWorld::until([&] { return words.reached(0, count); });
}

/// Each rank writes its datum and reads those of all, in calls without a barrier between them.
template <template <class> class Atomic>
Node<Atomic> exchange(std::size_t mates, std::uint64_t calls, std::size_t sleepers) {
  return {mates, [=](NodeWords<Atomic>& words, std::size_t me) {
            const auto all = static_cast<Rank>(mates);
            for (std::uint64_t call = 1; call <= calls; ++call) {
              words.enter(1);
              StaleWorld::until([&] { return words.open(); });
              StaleWorld::write(me, 10 * call + me);
              words.signal(0);
              wait(words, all, me < sleepers);
              for (std::size_t mate = 0; mate < mates; ++mate) {
                StaleWorld::expect(StaleWorld::read(mate) == 10 * call + mate, "another call's");
              }
              words.leave();
            }
          }};
}

/// All ranks add to one datum, in turns.
template <template <class> class Atomic>
Node<Atomic> turns(std::size_t mates, std::uint64_t calls, std::size_t sleepers) {
  return {mates, [=](NodeWords<Atomic>& words, std::size_t me) {
            const auto all = static_cast<Rank>(mates);
            for (std::uint64_t call = 1; call <= calls; ++call) {
              words.enter(1);
              StaleWorld::until([&] { return words.open(); });
              auto mine = NodeTurn::busy;
              StaleWorld::until([&] { return (mine = words.take_turn(0)) != NodeTurn::busy; });
              const std::uint64_t sum = mine == NodeTurn::first ? 0 : StaleWorld::read(0);
              StaleWorld::write(0, sum + call + me);
              words.end_turn(0);
              wait(words, all, me < sleepers);
              StaleWorld::expect(StaleWorld::read(0) == mates * call + mates * (mates - 1) / 2,
                                 "another sum");
              words.leave();
            }
          }};
}

/// Notes that are told before a signal are there when it is seen.
template <template <class> class Atomic>
Node<Atomic> notes(std::size_t mates) {
  return {mates, [=](NodeWords<Atomic>& words, std::size_t me) {
            words.enter(1);
            StaleWorld::until([&] { return words.open(); });
            StaleWorld::write(me, me);
            words.tell(4 + me);
            words.signal(0);
            StaleWorld::until([&] { return words.reached(0, static_cast<Rank>(mates)); });
            for (std::size_t mate = 0; mate < mates; ++mate) {
              StaleWorld::expect(words.told_by(mate) == 4 + mate, "a note is not there");
              StaleWorld::expect(StaleWorld::read(mate) == mate, "another note");
            }
            words.leave();
          }};
}

/// Ranks with plans of their own: nobody passes the flag.
template <template <class> class Atomic>
Node<Atomic> strangers(std::size_t mates) {
  return {mates, [=](NodeWords<Atomic>& words, std::size_t me) {
            const auto stranger = [&] {
              for (std::size_t mate = 0; mate < mates; ++mate) {
                if (words.is_stranger(mate)) return true;
              }
              return false;
            };
            words.enter(me == 0 ? 1 : 2);
            StaleWorld::until([&] { return words.open(); });
            if (stranger()) return;
            words.signal(0);
            StaleWorld::until([&] {
              const bool over = words.reached(0, static_cast<Rank>(mates));
              StaleWorld::expect(!over, "a rank went on with a stranger");
              return over || stranger();
            });
          }};
}

TEST(NodeWords, InAllOrdersOfEventsDataAreUsedAfterTheirFlagAndNobodySleepsForEver) {
  std::size_t worlds = 0;
  const auto all_orders = [&](const auto& node, const char* name) {
    const auto found = node.explore();
    EXPECT_EQ(found.mistake, "") << name;
    worlds += found.worlds;
  };
  all_orders(exchange<AsShipped>(2, 3, 0), "2 ranks, 3 calls");
  all_orders(exchange<AsShipped>(2, 2, 2), "2 ranks, 2 calls, both sleep");
  all_orders(exchange<AsShipped>(3, 1, 0), "3 ranks");
  all_orders(turns<AsShipped>(2, 1, 2), "2 ranks in turns, both sleep");
  all_orders(turns<AsShipped>(3, 1, 0), "3 ranks in turns");
  all_orders(notes<AsShipped>(3), "3 ranks with notes");
  all_orders(strangers<AsShipped>(2), "2 strangers");
  all_orders(strangers<AsShipped>(3), "3 ranks, a stranger");
  all_orders(exchange<AsShipped>(3, 1, 1), "3 ranks, one sleeps");
  all_orders(turns<AsShipped>(2, 2, 2), "2 ranks in turns, 2 calls, both sleep");
  all_orders(turns<AsShipped>(3, 1, 1), "3 ranks in turns, one sleeps");
  all_orders(turns<AsShipped>(4, 1, 0), "4 ranks in turns");
  RecordProperty("worlds", static_cast<int>(worlds));
}

TEST(NodeWords, InRandomOrdersOfFourRanks) {
  Random seeds(28);
  for (int i = 0; i < testing::random_runs(100); ++i) {
    const std::uint64_t seed = seeds.next();
    Random random(seed);
    const auto node = i % 2 == 0 ? exchange<AsShipped>(4, 3, 4) : turns<AsShipped>(4, 3, 4);
    StaleWorld world = node.begin();
    for (auto events = world.events(); !events.empty(); events = world.events()) {
      world.happen(events[random.below(events.size())]);
    }
    ASSERT_EQ(world.mistake(), "") << "seed " << seed;
    ASSERT_TRUE(world.over()) << "seed " << seed << ": a rank waits for ever";
  }
}

/// The search finds the faults of weaker orders: without sequential consistency a rank goes to
/// sleep as the last one counts, or two strangers do not see each other; without acquiring, data
/// race.
TEST(NodeWords, WeakerOrdersAreFoundOut) {
  EXPECT_EQ(exchange<NeverConsistent>(2, 1, 2).explore().mistake, "stuck");
  EXPECT_EQ(turns<NeverConsistent>(2, 1, 1).explore().mistake, "stuck");
  EXPECT_EQ(strangers<NeverConsistent>(2).explore().mistake, "a rank went on with a stranger");
  const std::string race = "two accesses to data are not ordered";
  EXPECT_EQ(exchange<NeverAcquire>(2, 2, 0).explore().mistake, race);
  EXPECT_EQ(turns<NeverAcquire>(2, 1, 0).explore().mistake, race);
}

}  // namespace
}  // namespace latecomer
