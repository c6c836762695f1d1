// The automatic choice in rooted collectives, in jobs whose ranks compute between calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/reproducible.hpp"
#include "choose/chooser.hpp"
#include "rehearse/rehearsal.hpp"

namespace latecomer {
namespace {

constexpr Rank kJobRanks = 8;

/// Seconds that a rank computes before a call.
using Compute = std::function<Seconds(Rank rank)>;

class Job {
 public:
  Job(Collective collective, const std::string& algorithm) {
    Rehearsal::Setting setting;
    setting.problem = {collective, kJobRanks, 1 << 18, 4};
    setting.choice = parse_choice(collective, algorithm);
    setting.network = setting.assumed = {.alpha = 20e-6, .beta = 1e-9, .gamma = 0.1e-9};
    setting.plain = true;
    rehearsal_.emplace(setting);
  }

  /// Returns the algorithms of so many calls. `slower`: of the library.
  std::vector<std::string> play(int calls, const Compute& compute, double slower = 1) {
    std::vector<std::string> algorithms;
    for (int call = 0; call < calls; ++call) {
      for (Rank rank = 0; rank < kJobRanks; ++rank) left_[rank] += compute(rank);
      const Seconds began = std::ranges::min(left_);
      for (Seconds& time : left_) time -= began;
      const Rehearsal::Call done =
          rehearsal_->call(left_, nullptr, 1, {1, slower, began_ += began});
      left_ = done.exits;
      algorithms.push_back(done.algorithm);
      finding_out += done.finding_out;
    }
    return algorithms;
  }
  [[nodiscard]] Seconds time() const { return began_ + std::ranges::max(left_); }

  Seconds finding_out = 0;

 private:
  std::optional<Rehearsal> rehearsal_;
  std::vector<Seconds> left_ = std::vector<Seconds>(kJobRanks, 0);
  Seconds began_ = 0;
};

Seconds equal(Rank /*rank*/) { return 5e-3; }

int count(const std::vector<std::string>& all, const std::string& one) {
  return static_cast<int>(std::ranges::count(all, one));
}

TEST(ChooserBlocks, ChangeNothingBeforeRanksHaveToldOfTwo) {
  Job job(Collective::reduce, "auto");
  const auto first = job.play(16, equal, 3);
  EXPECT_EQ(count(first, "native"), 16);
}

/// The calls at which blocks end, of so many, each of which takes all ranks a millisecond.
std::vector<std::uint64_t> ends_of_blocks(std::uint64_t calls) {
  const Problem problem{Collective::bcast, kJobRanks, 1 << 18, 4};
  Chooser chooser(0, kJobRanks);
  chooser.policy().choice(Collective::bcast) = parse_choice(Collective::bcast, "auto");
  chooser.connected(1);
  chooser.watch_arrivals();
  std::vector<std::uint64_t> ends;
  std::vector<LastCalls> told;
  Seconds now = 0;
  for (std::uint64_t call = 1; call <= calls; ++call) {
    const auto [call_class, left] = chooser.glance(problem);
    const bool ends_block = !left && chooser.decide(problem, call_class).ends_block;
    Chooser::note_inside(*call_class, {now, now + 1e-3});
    now += 2e-3;
    if (left && chooser.watched(*call_class, 1e-3))
      (void)chooser.reviewed(*call_class, problem, chooser.review(*call_class, true));
    if (!ends_block) continue;
    ends.push_back(call);
    if (!told.empty()) chooser.learn_block(*call_class, series_of(told));
    told.assign(kJobRanks, call_class->blocks->last_calls);
    call_class->blocks->last_calls.clear();
    Chooser::end_block(*call_class);
  }
  return ends;
}

TEST(ChooserBlocks, AreAsLongAsAllBeforeThemOrAQuarter) {
  const std::vector<std::uint64_t> ends = ends_of_blocks(10000);
  ASSERT_GT(ends.size(), 10U);
  EXPECT_EQ(ends.at(0) - 8, 4U);  // the first review is after 8 calls
  for (std::size_t i = 2; i < ends.size(); ++i) {
    const std::uint64_t length = ends[i] - ends[i - 1];
    const std::uint64_t before = ends[i - 1] + 1;
    const auto bounded = [](std::uint64_t calls) {
      return std::clamp<std::uint64_t>(calls, 8, 512);
    };
    EXPECT_TRUE(length == bounded(before) || length == bounded(before / 4)) << i << ": " << length;
  }
}

TEST(ChooserBlocks, LeaveASlowLibrary) {
  for (const Collective collective :
       {Collective::reduce, Collective::bcast, Collective::gather, Collective::scatter}) {
    Job job(collective, "auto");
    const auto algorithms = job.play(200, equal, 3);
    EXPECT_LT(count(algorithms, "native"), 60) << to_string(collective);
  }
}

TEST(ChooserBlocks, ComeBackToALibraryThatBecameFaster) {
  Job job(Collective::bcast, "auto");
  (void)job.play(100, equal, 3);
  const auto later = job.play(1500, equal, 0.3);
  EXPECT_EQ(std::vector(later.end() - 200, later.end()), std::vector<std::string>(200, "native"));
}

TEST(ChooserBlocks, CostLittleWhereNothingIsBetter) {
  for (const Collective collective :
       {Collective::reduce, Collective::bcast, Collective::gather, Collective::scatter}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE(std::string(to_string(collective)) + ", seed " + std::to_string(seed));
      const auto play = [&](const char* algorithm) {
        Random random(seed);
        Job job(collective, algorithm);
        (void)job.play(300, [&](Rank) { return 5e-3 + 2e-3 * random.uniform(); }, 0.7);
        return job.time();
      };
      EXPECT_LT(play("auto"), 1.02 * play("native"));
    }
  }
}

}  // namespace
}  // namespace latecomer
