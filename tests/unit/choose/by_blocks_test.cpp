// The automatic choice in rooted collectives, in jobs whose ranks compute between calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/reproducible.hpp"
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

TEST(ChooserBlocks, AreLongerAndLonger) {
  Job job(Collective::reduce, "auto");
  const auto algorithms = job.play(400, equal);
  std::vector<int> lengths = {1};
  for (std::size_t call = 1; call < algorithms.size(); ++call) {
    if (algorithms[call] == algorithms[call - 1]) {
      ++lengths.back();
    } else {
      lengths.push_back(1);
    }
  }
  EXPECT_LT(lengths.size(), 12U);
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
