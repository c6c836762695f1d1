// Calls on the virtual network, recorded as programs, before the verifier.
#include <gtest/gtest.h>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "base/reproducible.hpp"
#include "reference/sweeps.hpp"
#include "simulate/simulate.hpp"
#include "verify/verify.hpp"

namespace latecomer {
namespace {

/// Each of two ranks sends its input to the other and adds what comes; then both hold the sum. What
/// it does too early is wrong; two ranks that receive before they send wait for ever.
enum class Mistake : std::uint8_t { none, adds_at_once, receives_first };

class Exchange final : public Protocol {
 public:
  Exchange(Rank me, Mistake mistake, Transport& transport)
      : other_(1 - me), mistake_(mistake), transport_(transport) {}

  void start() override {}
  void arrive() override {
    transport_.post(Operation::recv(other_, kScratch), kReceived, {});
    if (mistake_ == Mistake::receives_first) return;
    send();
    transport_.post(Operation::copy(kInput, kOutput), kCopied, {});
    if (mistake_ == Mistake::adds_at_once) add();
  }
  void completed(const Completion& completion) override {
    ++ended_;
    if (completion.token == kReceived && mistake_ == Mistake::receives_first) send();
    if (mistake_ == Mistake::none && ended_ == 3) add();
  }
  [[nodiscard]] Status status() const override {
    return ended_ == 4 ? Status::done : Status::running;
  }
  [[nodiscard]] const std::string& failure() const override { return none_; }
  [[nodiscard]] std::string waiting_for() const override { return "a message"; }

 private:
  static constexpr Count kElements = 1000;
  static constexpr Slice kInput{Buffer::input, 0, kElements};
  static constexpr Slice kOutput{Buffer::output, 0, kElements};
  static constexpr Slice kScratch{Buffer::scratch, 0, kElements};
  static constexpr Token kSent = 1, kReceived = 2, kCopied = 3, kAdded = 4;

  void send() { transport_.post(Operation::send(other_, kInput), kSent, {}); }
  void add() {
    const bool lower = other_ == 1;  // the lower rank's part stands on the left
    const Operation sum = lower ? Operation::combine(kOutput, kScratch, Into::left)
                                : Operation::combine(kScratch, kOutput, Into::right);
    transport_.post(sum, kAdded, {});
  }

  Rank other_;
  Mistake mistake_;
  Transport& transport_;
  int ended_ = 0;
  std::string none_;
};

class ExchangeExecutor final : public Executor {
 public:
  ExchangeExecutor(Rank me, Mistake mistake) : mistake_(mistake) {
    context_.me = me;
    context_.ranks = 2;
    context_.input_count = context_.output_count = context_.scratch_count = 1000;
  }
  [[nodiscard]] const RankContext& context() const override { return context_; }
  [[nodiscard]] std::unique_ptr<Protocol> create_protocol(
      Transport& transport, const ProtocolOptions& /*options*/) const override {
    return std::make_unique<Exchange>(context_.me, mistake_, transport);
  }

 private:
  RankContext context_;
  Mistake mistake_;
};

RecordedCall exchange(Mistake mistake) {
  Executors executors;
  for (const Rank me : {0, 1}) executors.push_back(std::make_unique<ExchangeExecutor>(me, mistake));
  return simulate_recorded(executors, {});
}

std::string_view rule_broken(const RecordedCall& call) {
  Problem problem{Collective::allreduce, 2, 1000};
  problem.exact = true;  // the ranks add in another order
  const auto found = verify(problem, call.programs);
  return found ? found->rule : "";
}

TEST(Recorded, OperationsWaitForThoseThatHadEnded) {
  const RecordedCall call = exchange(Mistake::none);
  ASSERT_EQ(call.programs.size(), 2U);
  const Program& program = call.programs[0];
  ASSERT_EQ(program.operations.size(), 5U);
  EXPECT_EQ(to_text(program.operations[1]), "recv scratch[0:1000] from 1");
  EXPECT_EQ(to_text(program.operations[4]), "combine output[0:1000] scratch[0:1000] into left");
  EXPECT_EQ(program.after[0], std::vector<OpIndex>{});
  EXPECT_EQ(program.after[1], std::vector<OpIndex>{0});
  EXPECT_EQ(program.after[4], (std::vector<OpIndex>{1, 2, 3}));
  EXPECT_EQ(rule_broken(call), "");
}

TEST(Recorded, TheVerifierSeesWhatARankDidTooEarly) {
  EXPECT_EQ(rule_broken(exchange(Mistake::adds_at_once)), "hazard");
}

TEST(Recorded, NoMessageIsBuffered) {
  EXPECT_NE(exchange(Mistake::receives_first).simulation.failure, "");
}

/// The rank's programs, recorded, move and combine what they say; more of their operations wait.
TEST(Recorded, AProgramIsStillOne) {
  const Problem problem{Collective::allreduce, 5, 23};
  const Plan plan =
      make_plan(find_algorithm(Collective::allreduce, "prereduced_ring"), problem, {}, {});
  const RecordedCall call = simulate_recorded(make_executors(plan, {}), {});
  const std::vector<Program> programs = build_programs(plan);
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    EXPECT_EQ(call.programs[rank].operations.size(), programs[rank].operations.size());
  }
  EXPECT_FALSE(verify(problem, call.programs));
}

/// Which of two ranks of a node comes first is decided while they run.
TEST(Recorded, ProgramsOnTheMemoryOfNodesToo) {
  const Problem problem{Collective::allreduce, 6, 40};
  Random random(5);
  for (int i = 0; i < testing::random_runs(100); ++i) {
    SimulationOptions options;
    for (Rank rank = 0; rank < problem.ranks; ++rank) {
      options.arrivals.push_back(1e-6 * static_cast<double>(random.below(40)));
    }
    Knowledge knowledge;
    knowledge.placement = {0, 0, 0, 1, 1, 1};
    const Plan plan =
        make_plan(find_algorithm(Collective::allreduce, "nodes"), problem, {}, knowledge);
    const RecordedCall call = simulate_recorded(make_executors(plan, {}), options);
    EXPECT_EQ(call.simulation.failure, "");
    const auto found = verify(problem, call.programs);
    EXPECT_FALSE(found) << found->rule << ": " << found->text;
  }
}

}  // namespace
}  // namespace latecomer
