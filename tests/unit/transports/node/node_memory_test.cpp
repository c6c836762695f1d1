// The memory of a node, shared by threads that stand for ranks: each opens it for itself. Run under
// the thread sanitizer too.
#include "transports/node/node_memory.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <system_error>
#include <thread>

#include "base/reproducible.hpp"

namespace latecomer {
namespace {

using Memories = std::vector<std::unique_ptr<NodeMemory>>;
using Kind = SharedMemory::Kind;

Memories shared_by(std::size_t ranks, Kind kind = Kind::unnamed) {
  std::vector<Rank> mates(ranks);
  std::iota(mates.begin(), mates.end(), 10);
  const auto all = static_cast<Rank>(10 + ranks);
  SharedMemory made = SharedMemory::make(kind, NodeMemory::bytes(ranks, all));
  Memories memories;
  for (const Rank mate : mates) {
    memories.push_back(std::make_unique<NodeMemory>(SharedMemory::open(made.path(), made.bytes()),
                                                    mates, mate, all));
  }
  return memories;
}

/// Ranks that are threads, with one mapping.
struct Threads {
  explicit Threads(std::size_t ranks)
      : made(SharedMemory::make(Kind::unnamed, NodeMemory::bytes(ranks, static_cast<Rank>(ranks)))),
        whole(made.map(0, made.bytes())) {
    std::vector<Rank> mates(ranks);
    std::iota(mates.begin(), mates.end(), 0);
    for (const Rank mate : mates) {
      memories.push_back(std::make_unique<NodeMemory>(SharedMemory::within(whole), mates, mate,
                                                      static_cast<Rank>(ranks)));
    }
  }
  SharedMemory made;
  Mapping whole;
  Memories memories;
};

/// Runs `work(memory, place)` on a thread for each rank.
void on_all(Memories& memories, const std::function<void(NodeMemory&, std::size_t)>& work) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < memories.size(); ++i) {
    threads.emplace_back([&, i] { work(*memories[i], i); });
  }
  for (std::thread& thread : threads) thread.join();
}

template <class Done>
void wait(Done&& done) {
  while (!done()) std::this_thread::yield();
}

int code_of(const std::function<void()>& work) try {
  work();
  return 0;
} catch (const std::system_error& error) {
  return error.code().value();
}

TEST(SharedMemory, BothKindsAreSharedAndFreshMemoryIsZero) {
  for (const Kind kind : {Kind::unnamed, Kind::named}) {
    SharedMemory made = SharedMemory::make(kind, 1 << 20);
    const SharedMemory opened = SharedMemory::open(made.path(), 1 << 20);
    made.unlink();
    made.reserve(4096, 8192);
    const Mapping here = made.map(4096, 8192);
    const Mapping there = opened.map(4096, 8192);
    EXPECT_EQ(there.data()[8191], std::byte{0});
    here.data()[8191] = std::byte{7};
    EXPECT_EQ(there.data()[8191], std::byte{7});
    EXPECT_NE(here.data(), there.data());
    if (kind == Kind::named) {
      EXPECT_EQ(code_of([&] { (void)SharedMemory::open(made.path(), 1 << 20); }), ENOENT);
    }
  }
}

TEST(SharedMemory, LeavesNoFileBehind) {
  std::string path;
  {
    const SharedMemory made = SharedMemory::make(Kind::named, 4096);
    path = made.path();
    struct stat found{};
    EXPECT_EQ(stat(path.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0600U);
  }
  struct stat found{};
  EXPECT_NE(stat(path.c_str(), &found), 0);
}

TEST(SharedMemory, MemoryThatIsAnothersIsRefused) {
  const SharedMemory made = SharedMemory::make(Kind::unnamed, 4096);
  EXPECT_EQ(code_of([&] { (void)SharedMemory::open(made.path(), 8192); }), EINVAL);
  EXPECT_EQ(code_of([] { (void)SharedMemory::open("/dev/null", 8192); }), EINVAL);
  EXPECT_EQ(code_of([] { (void)SharedMemory::open("/proc/1/fd/none", 8192); }), ENOENT);
}

/// A limit on files would otherwise end the process by a signal.
TEST(SharedMemory, FilesBeyondTheLimitAreRefused) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 4096;
  setrlimit(RLIMIT_FSIZE, &small);
  const int code = code_of([] { (void)SharedMemory::make(Kind::unnamed, 8192); });
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(code, EFBIG);
}

/// A program with many communicators keeps descriptors for itself.
TEST(SharedMemory, HalfOfTheDescriptorsAreLeftToTheProgram) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit limit = before;
  limit.rlim_cur = 200;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  std::vector<SharedMemory> made;
  for (const Kind kind : {Kind::unnamed, Kind::named}) {
    int code = 0;
    while (code == 0 && made.size() < 200) {
      try {
        made.push_back(SharedMemory::make(kind, 4096));
      } catch (const std::system_error& error) {
        code = error.code().value();
      }
    }
    EXPECT_EQ(code, EMFILE);
    EXPECT_LE(made.size(), 100U);
  }
  EXPECT_THROW(SharedMemory::open(made.front().path(), 4096), std::system_error);
  made.resize(made.size() / 2);
  EXPECT_NO_THROW(SharedMemory::make(Kind::unnamed, 4096));
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST(NodeMemory, SignaturesProveThatItIsShared) {
  Memories memories = shared_by(3);
  const Memories others = shared_by(3);
  memories[0]->sign(99);
  memories[1]->sign(99);
  others[2]->sign(99);
  EXPECT_FALSE(memories[0]->all_signed(99));
  memories[2]->sign(98);
  EXPECT_FALSE(memories[0]->all_signed(99));
  memories[2]->sign(99);
  for (const auto& each : memories) EXPECT_TRUE(each->all_signed(99));
}

TEST(NodeMemory, FlagsCountFromZeroInEachCall) {
  Memories memories = shared_by(2);
  for (int call = 0; call < 5; ++call) {
    for (const auto& each : memories) {
      each->reserve(2, 100);
      each->enter(1);
    }
    EXPECT_TRUE(memories[0]->open());
    EXPECT_TRUE(memories[1]->reached(0, 0));
    EXPECT_FALSE(memories[1]->reached(0, 1));
    memories[0]->signal(0);
    EXPECT_TRUE(memories[1]->reached(0, 1));
    EXPECT_FALSE(memories[1]->reached(0, 2));
    EXPECT_FALSE(memories[1]->reached(1, 1));
    memories[1]->signal(0);
    EXPECT_TRUE(memories[0]->reached(0, 2));
    for (const auto& each : memories) each->leave();
  }
}

TEST(NodeMemory, TurnsAreTakenOneAtATime) {
  using enum NodeMemory::Turn;
  Memories memories = shared_by(2);
  for (const auto& each : memories) {
    each->reserve(1, 1);
    each->enter(1);
  }
  EXPECT_EQ(memories[0]->take_turn(0), first);
  EXPECT_EQ(memories[1]->take_turn(0), busy);
  EXPECT_FALSE(memories[1]->reached(0, 1));
  memories[0]->end_turn(0);
  EXPECT_TRUE(memories[1]->reached(0, 1));
  EXPECT_EQ(memories[1]->take_turn(0), later);
  memories[1]->end_turn(0);
  EXPECT_TRUE(memories[1]->reached(0, 2));
}

TEST(NodeMemory, TheGateOpensWhenAllHaveLeftTheCallBefore) {
  Memories memories = shared_by(3);
  for (const auto& each : memories) each->enter(1);
  memories[0]->leave();
  memories[1]->leave();
  memories[0]->enter(1);
  EXPECT_FALSE(memories[0]->open());
  EXPECT_EQ(memories[0]->missing(), (std::vector<Rank>{11, 12}));
  memories[2]->leave();
  EXPECT_TRUE(memories[0]->open());
  memories[1]->enter(1);
  EXPECT_EQ(memories[0]->missing(), (std::vector<Rank>{12}));
}

/// A rank in the call before, or in one that others are not in yet, is no stranger.
TEST(NodeMemory, StrangersAreRanksOfTheSameCallWithAnotherPlan) {
  Memories memories = shared_by(2);
  memories[0]->enter(5);
  EXPECT_EQ(memories[0]->stranger(), std::nullopt);
  memories[1]->enter(6);
  EXPECT_EQ(memories[0]->stranger(), 11);
  EXPECT_EQ(memories[1]->stranger(), 10);
  memories[0]->leave();
  memories[0]->enter(7);
  EXPECT_EQ(memories[0]->stranger(), std::nullopt);
  EXPECT_EQ(memories[1]->stranger(), std::nullopt);
}

TEST(NodeMemory, NotesGrowAndAreForgottenInTheNextCall) {
  Memories memories = shared_by(3);
  const auto heard = [&](std::size_t by) {
    std::vector<std::string> all;
    memories[by]->hear([&](const char* data, std::size_t bytes) { all.emplace_back(data, bytes); });
    return all;
  };
  for (const auto& each : memories) each->enter(1);
  memories[0]->tell(std::string("ab"));
  memories[1]->tell(std::string("c"));
  EXPECT_EQ(heard(2), (std::vector<std::string>{"ab", "c"}));
  memories[0]->tell(std::string("abd"));
  EXPECT_EQ(heard(1), (std::vector<std::string>{"abd"}));
  for (const auto& each : memories) {
    each->leave();
    each->enter(1);
  }
  EXPECT_TRUE(heard(2).empty());
}

/// All-reduces of sums in slices, as the row `nodes` has them, in calls that follow each other
/// without a barrier, with buffers that grow.
TEST(NodeMemory, RanksAddTheirNumbersInManyCalls) {
  constexpr std::size_t kRanks = 4;
  constexpr int kSlices = 3;
  Threads ranks(kRanks);
  Memories& memories = ranks.memories;
  std::vector<int> wrong(kRanks);
  on_all(memories, [&](NodeMemory& memory, std::size_t me) {
    Random random(me);
    for (std::uint64_t call = 1; call <= 400; ++call) {
      const std::size_t length = 100 + 50 * call;
      auto* const sums = static_cast<std::uint64_t*>(
          memory.reserve(kSlices, kSlices * length * sizeof(std::uint64_t)));
      memory.enter(call);
      wait([&] { return memory.open(); });
      if (random.below(3) == 0) std::this_thread::yield();
      for (int turn = 0; turn < kSlices; ++turn) {
        const int slice = static_cast<int>(me + static_cast<std::size_t>(turn)) % kSlices;
        auto mine = NodeMemory::Turn::busy;
        wait([&] { return (mine = memory.take_turn(slice)) != NodeMemory::Turn::busy; });
        std::uint64_t* const to = sums + static_cast<std::size_t>(slice) * length;
        for (std::size_t i = 0; i < length; ++i) {
          to[i] = (mine == NodeMemory::Turn::first ? 0 : to[i]) + call + me;
        }
        memory.end_turn(slice);
      }
      for (int slice = 0; slice < kSlices; ++slice) {
        wait([&] { return memory.reached(slice, kRanks); });
      }
      for (std::size_t i = 0; i < kSlices * length; ++i) {
        if (sums[i] != kRanks * call + kRanks * (kRanks - 1) / 2) ++wrong[me];
      }
      if (memory.stranger()) ++wrong[me];
      memory.leave();
    }
  });
  EXPECT_EQ(wrong, std::vector<int>(kRanks));
}

TEST(NodeMemory, ASleepEndsInTimeThoughNobodyWakes) {
  Memories memories = shared_by(2);
  for (const auto& each : memories) {
    each->reserve(1, 0);
    each->enter(1);
  }
  memories[0]->signal(0);
  memories[1]->sleep_until(0, 2, 1e-3);
  EXPECT_FALSE(memories[1]->reached(0, 2));
  memories[1]->sleep_until(0, 1, 1e9);  // has counted so far
}

/// Ranks sleep until the last one has counted. A wake that is lost makes a sleep as long as its
/// limit, which is beyond all that threads may take to get a core.
TEST(NodeMemory, SleepingRanksAreWoken) {
  constexpr std::size_t kRanks = 3;
  constexpr Seconds kLimit = 100;
  using Clock = std::chrono::steady_clock;
  Threads ranks(kRanks);
  Memories& memories = ranks.memories;
  std::vector<int> lost(kRanks);
  on_all(memories, [&](NodeMemory& memory, std::size_t me) {
    memory.reserve(2, 0);
    Random random(me);
    for (std::uint64_t call = 1; call <= 1000; ++call) {
      memory.enter(call);
      wait([&] { return memory.open(); });
      for (int flag = 0; flag < 2; ++flag) {
        if (random.below(3) == 0) std::this_thread::yield();
        if (flag == 0) {
          memory.signal(flag);
        } else {
          wait([&] { return memory.take_turn(flag) != NodeMemory::Turn::busy; });
          memory.end_turn(flag);
        }
        while (!memory.reached(flag, kRanks) && lost[me] == 0) {
          const auto begin = Clock::now();
          memory.sleep_until(flag, kRanks, kLimit);
          if (Clock::now() - begin >= std::chrono::duration<double>(kLimit)) ++lost[me];
        }
      }
      memory.leave();
    }
  });
  EXPECT_EQ(lost, std::vector<int>(kRanks));
}

/// A rank tells what it knows by a signal; the others hear it after they have seen the signal.
TEST(NodeMemory, NotesAreThereWhenTheSignalIsSeen) {
  constexpr std::size_t kRanks = 3;
  Threads ranks(kRanks);
  Memories& memories = ranks.memories;
  std::vector<int> wrong(kRanks);
  on_all(memories, [&](NodeMemory& memory, std::size_t me) {
    memory.reserve(2, 0);
    for (std::uint64_t call = 1; call <= 500; ++call) {
      memory.enter(call);
      wait([&] { return memory.open(); });
      std::string notes(4, static_cast<char>('a' + call % 20));
      for (int flag = 0; flag < 2; ++flag) {
        notes += std::string(4, static_cast<char>('A' + flag));
        memory.tell(notes);
        memory.signal(flag);
        wait([&] { return memory.reached(flag, kRanks); });
        std::size_t heard = 0;
        memory.hear([&](const char* data, std::size_t bytes) {
          ++heard;
          const std::string_view text(data, bytes);
          if (bytes < notes.size() || text.substr(0, notes.size()) != notes) ++wrong[me];
        });
        if (heard != kRanks - 1) ++wrong[me];
      }
      memory.leave();
    }
  });
  EXPECT_EQ(wrong, std::vector<int>(kRanks));
}

}  // namespace
}  // namespace latecomer
