#include "choose/wisdom.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "base/reproducible.hpp"
#include "choose/belief.hpp"
#include "unit/choose/made_up_machine.hpp"

namespace latecomer {
namespace {

using namespace testing;

NetworkBelief random_belief(Random& random) {
  NetworkBelief belief;
  for (double& each : belief.logarithms) each = 20 * random.uniform() - 10;
  for (double& each : belief.deviations) each = random.uniform();
  return belief;
}

/// The message of a text that cannot be read; "" if it can.
std::string trouble(const std::string& text) {
  try {
    (void)Wisdom(text, "wisdom file w");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

constexpr const char* kHead = "latecomer wisdom 1\n";
constexpr const char* kValues = "start-ups=0.9/0.1 bytes=1.2/0.05 combining=1/0.5 exchanges=1.3/0";

TEST(Wisdom, IsReadAsItWasWritten) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    Wisdom wisdom;
    std::vector<NetworkBelief> put;
    for (std::size_t i = 0; i <= random.below(Wisdom::kMost); ++i) {
      put.push_back(random_belief(random));
      wisdom.put("ranks=" + std::to_string(i) + " network=alpha=1us", put.back());
    }
    const std::string text = wisdom.text();
    EXPECT_LT(text.size(), Wisdom::kMaxText);
    const Wisdom again(text, "text");
    ASSERT_EQ(again.text(), text) << "seed " << seed;
    ASSERT_EQ(again.size(), put.size());
    for (std::size_t i = 0; i < put.size(); ++i) {
      const auto* const found = again.find("ranks=" + std::to_string(i) + " network=alpha=1us");
      ASSERT_NE(found, nullptr);
      for (std::size_t part = 0; part < put[i].logarithms.size(); ++part) {
        EXPECT_NEAR(found->logarithms[part], put[i].logarithms[part], 1e-3);
        EXPECT_NEAR(found->deviations[part], put[i].deviations[part], 1e-3);
      }
    }
  }
}

TEST(Wisdom, KeepsTheNewestEntries) {
  Wisdom wisdom;
  for (std::size_t i = 0; i < Wisdom::kMost; ++i) wisdom.put("key " + std::to_string(i), {});
  wisdom.put("key 0", {{1, 1, 1, 1}, {}});  // again: now the newest
  wisdom.put("another", {});
  EXPECT_EQ(wisdom.size(), Wisdom::kMost);
  EXPECT_EQ(wisdom.find("key 1"), nullptr);
  ASSERT_NE(wisdom.find("key 0"), nullptr);
  EXPECT_EQ(wisdom.find("key 0")->logarithms[3], 1);
  EXPECT_NE(wisdom.find("another"), nullptr);
  EXPECT_TRUE(wisdom.text().find("another: ") < wisdom.text().find("key 0: "));
}

TEST(Wisdom, TheLongestTextCanBeRead) {
  Wisdom wisdom;
  for (std::size_t i = 0; i < Wisdom::kMost; ++i) {
    std::string key = std::to_string(i);
    key.resize(Wisdom::kMaxKey, 'k');
    wisdom.put(key, {{-1.23456, 1.23456, -1.23456, 1.23456}, {0.12345, 0.12345, 0.12345, 0.12345}});
  }
  EXPECT_EQ(wisdom.size(), Wisdom::kMost);
  EXPECT_LT(wisdom.text().size(), Wisdom::kMaxText);
  EXPECT_EQ(trouble(wisdom.text()), "");
}

TEST(Wisdom, WhatNoTextCanHoldIsLeftOut) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Wisdom wisdom;
  for (const double bad : {kNaN, kInfinity, -kInfinity, 20.0, -20.0}) {
    wisdom.put("key", {{0, bad, 0, 0}, {}});
  }
  for (const double bad : {kNaN, kInfinity, -1.0, 11.0}) wisdom.put("key", {{}, {0, 0, bad, 0}});
  for (const char* const key : {"", "#key", "a: b", "a\nb", "a\tb", "\xc3\xa4"})
    wisdom.put(key, {});
  wisdom.put(std::string(Wisdom::kMaxKey + 1, 'k'), {});
  EXPECT_EQ(wisdom.size(), 0U);
}

TEST(Wisdom, ReadsWhatAPersonWrites) {
  const std::string text =
      std::string(kHead) + "# a comment\n\nranks=4: " + kValues + "\n# another\n";
  const Wisdom wisdom(text, "text");
  const NetworkBelief* const found = wisdom.find("ranks=4");
  ASSERT_NE(found, nullptr);
  EXPECT_NEAR(exp_of(found->logarithms[1]), 1.2, 1e-9);
  EXPECT_EQ(found->deviations[2], 0.5);
  EXPECT_EQ(Wisdom("", "text").size(), 0U);
  EXPECT_EQ(Wisdom(kHead, "text").size(), 0U);
}

TEST(Wisdom, RefusesOtherTextsAndShowsNothingOfThem) {
  const std::string good = std::string("key: ") + kValues + "\n";
  const auto with = [](const std::string& rest) { return kHead + rest; };
  const auto begins = [](const std::string& text, const std::string& with_what) {
    EXPECT_TRUE(trouble(text).starts_with(with_what)) << trouble(text);
    EXPECT_EQ(trouble(text).find("secret"), std::string::npos);
  };
  begins("secret\n", "wisdom file w: 'line 1' is not usable; right would be 'latecomer wisdom 1'");
  begins("latecomer wisdom 2\n", "wisdom file w: 'line 1' is not usable");
  begins("\n" + with(good), "wisdom file w: 'line 1' is not usable");
  const std::string cut = with(good).substr(0, 40);
  begins(cut, "wisdom file w: 'its end' is not usable; right would be a whole line");
  begins(std::string(3, '\0'), "wisdom file w: 'its end'");
  for (const char* const line : {"secret", ": ", "\x01: ", "key:"}) {
    begins(with(line + std::string("\n")),
           "wisdom file w: 'line 2' is not usable; right would be a key of printable");
  }
  begins(with(good + good), "wisdom file w: 'line 3' is not usable; right would be another key");
  for (const char* const values :
       {"", "secret", "start-ups=0.9/0.1",
        "start-ups=1/0 bytes=1/0 combining=1/0 exchanges=1/secret",
        "start-ups=nan/0 bytes=1/0 combining=1/0 exchanges=1/0",
        "start-ups=1/0 bytes=inf/0 combining=1/0 exchanges=1/0",
        "start-ups=1/0 bytes=1/nan combining=1/0 exchanges=1/0",
        "start-ups=1/0 bytes=1/-1 combining=1/0 exchanges=1/0",
        "start-ups=1/0 bytes=1/0 combining=0/0 exchanges=1/0",
        "start-ups=1/0 bytes=1/0 combining=-1/0 exchanges=1/0",
        "start-ups=1/0 bytes=1/0 combining=1e7/0 exchanges=1/0",
        "start-ups=1/0 bytes=1/0 combining=1/11 exchanges=1/0",
        "start-ups=1/0 bytes=1/0 combining=1/1e999 exchanges=1/0",
        "bytes=1/0 start-ups=1/0 combining=1/0 exchanges=1/0",
        "start-ups=1/0/0 bytes=1/0 combining=1/0 exchanges=1/0",
        "start-ups=1=1/0 bytes=1/0 combining=1/0 exchanges=1/0",
        "start-ups=1/0  bytes=1/0 combining=1/0 exchanges=1/0",
        "start-ups=1/0 bytes=1/0 combining=1/0 exchanges=1/0 secret=1/0"}) {
    begins(with(std::string("key: ") + values + "\n"),
           "wisdom file w, line 2: 'text' is not usable; right would be start-ups=0.9/0.1 bytes=");
  }
  std::string many = kHead;
  for (int i = 0; i < 2000; ++i) many += "key " + std::to_string(i) + ": " + kValues + "\n";
  begins(many,
         "wisdom file w: 'line 66' is not usable; right would be the end: there are at most 64");
}

/// Every text that is cut off or has another byte is read without harm, or refused.
TEST(Wisdom, SurvivesDamagedTexts) {
  Random random(5);
  Wisdom wisdom;
  for (int i = 0; i < 3; ++i) wisdom.put("key " + std::to_string(i), random_belief(random));
  const std::string text = wisdom.text();
  for (int i = 0; i < 5000; ++i) {
    std::string damaged = text.substr(0, random.below(text.size() + 1));
    for (std::uint64_t k = random.below(4); k > 0 && !damaged.empty(); --k) {
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    }
    try {
      const Wisdom read(damaged, "text");
      EXPECT_EQ(Wisdom(read.text(), "text").text(), read.text());
    } catch (const Error&) {
    }
  }
}

// --- What a class begins with ---

TEST(Belief, WisdomIsLessCertainThanWhatWasLearntAndMoreThanNothing) {
  Belief belief;
  EXPECT_TRUE(belief.empty());
  belief.begin({0.1, 0, 0.9, 0.2});
  EXPECT_FALSE(belief.empty());
  const NetworkParts now = belief.deviations();
  Belief nothing;
  (void)nothing.index_of("native", Belief::kLibrary);
  const NetworkParts at_first = nothing.deviations();
  for (std::size_t part = 0; part < now.size(); ++part) EXPECT_LE(now[part], at_first[part]);
  const double most = std::hypot(Belief::kNetwork, Belief::kChanged);
  EXPECT_DOUBLE_EQ(now[0], std::hypot(0.1, most));
  EXPECT_DOUBLE_EQ(now[1], most);
  EXPECT_DOUBLE_EQ(now[2], at_first[2]);
  EXPECT_DOUBLE_EQ(now[3], at_first[3]);
  EXPECT_EQ(belief.corrections(), NetworkParts{});
}

/// Claims within the bounds stay as they are, for each part; others end at a bound.
TEST(Belief, ClaimsAreBelievedWithinTheDeviationsAtFirst) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    Random random(seed);
    NetworkParts claimed{};
    for (double& each : claimed) each = 28 * random.uniform() - 14;
    const NetworkParts got = Belief::credible(claimed);
    const double common = (claimed[0] + claimed[1]) / 2;
    const double level = std::max(-Belief::kMostCommon, std::min(Belief::kMostCommon, common));
    for (std::size_t part = 0; part < claimed.size(); ++part) {
      const bool of_links = part < 2;
      const double most = Belief::kMostOff * (part < 3 ? Belief::kPart : Belief::kExchange);
      const double own = claimed[part] - (of_links ? common : 0);
      const double now = got[part] - (of_links ? level : 0);
      const double right = std::abs(own) <= most ? own : std::copysign(most, own);
      EXPECT_NEAR(now, right, 1e-9) << "seed " << seed << ", part " << part;
    }
  }
  const NetworkParts usual = {-2.3, -1.6, -1.4, 0.26};
  for (std::size_t part = 0; part < usual.size(); ++part)
    EXPECT_NEAR(Belief::credible(usual)[part], usual[part], 1e-12);
}

Network slower(double times) {
  Network network;
  network.alpha *= times;
  network.beta *= times;
  network.gamma *= times;
  return network;
}

/// Programs take `pace` times their price on the built-in network, the library much longer.
Machine machine(double pace) {
  return [pace](std::string_view row) { return row == "native" ? 3 * pace : pace; };
}

TEST(Chooser, LearnsOfTheNetworkWhatALaterJobBeginsWith) {
  World first;
  EXPECT_FALSE(first.chooser.network_learnt());
  play(first, 100, {}, [](std::string_view) { return 1; });
  const auto learnt = first.chooser.network_learnt();
  ASSERT_TRUE(learnt);
  EXPECT_NEAR(learnt->logarithms[1], 0, 0.3);
  EXPECT_LT(learnt->deviations[1], 0.6);

  World second;
  CallClass& before = second.chooser.class_of(kProblem);
  second.chooser.begin_with({{log_of(2), log_of(2), log_of(2), 0}, learnt->deviations});
  for (const CallClass* const each :
       {&before, &second.chooser.class_of({Collective::allreduce, 16, 1 << 18, 4})}) {
    ASSERT_TRUE(each->network);
    EXPECT_NEAR(each->network->beta / Network{}.beta, 2, 1e-9);
    EXPECT_FALSE(each->belief.empty());
  }
  EXPECT_FALSE(second.chooser.network_learnt());  // that was another job
}

TEST(Chooser, WisdomIsOfOneNetwork) {
  World world;
  world.chooser.agree_on_network();
  world.chooser.begin_with({{1, 1, 1, 0}, {}});
  world.chooser.policy().network = slower(3);
  world.chooser.agree_on_network();
  EXPECT_FALSE(world.chooser.class_of(kProblem).network);
  EXPECT_TRUE(world.chooser.class_of(kProblem).belief.empty());
}

TEST(Chooser, CallsOfThisJobCountMoreThanWisdom) {
  World world;
  play(world, 100, {}, machine(1));
  const Network& network = world.chooser.class_of(kProblem).network.value_or(Network{});
  world.chooser.begin_with({{3, 3, 3, 0}, {}});
  EXPECT_EQ(world.chooser.class_of(kProblem).network.value_or(Network{}), network);
}

}  // namespace
}  // namespace latecomer
