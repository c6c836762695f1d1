// Protocols that use control messages, on the transport alone: call after call, so that messages
// that come late meet calls that they were not meant for.
#include <sched.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "base/reproducible.hpp"
#include "communicator.hpp"
#include "runner.hpp"
#include "transports/mpi/transport.hpp"

namespace latecomer::testing {
namespace {

using Values = std::vector<std::uint64_t>;

/// Maps x -> a x + b modulo 2^32, a in the upper half: first left, then right.
std::uint64_t compose(std::uint64_t left, std::uint64_t right) {
  const auto a = static_cast<std::uint32_t>((left >> 32) * (right >> 32));
  const auto b = static_cast<std::uint32_t>((right >> 32) * (left & 0xffffffff) + right);
  return std::uint64_t{a} << 32 | b;
}

void compose_all(void* left, void* right, int* count, MPI_Datatype* /*type*/) {
  auto* const a = static_cast<std::uint64_t*>(left);
  auto* const b = static_cast<std::uint64_t*>(right);
  for (int i = 0; i < *count; ++i) b[i] = compose(a[i], b[i]);
}

Values values_of(Count count, std::uint64_t seed, int rank) {
  Random random(seed + static_cast<std::uint64_t>(rank));
  Values values(static_cast<std::size_t>(count));
  for (std::uint64_t& value : values) value = random.next() | std::uint64_t{1} << 32;
  return values;
}

Values right_result(const Problem& problem, std::uint64_t seed) {
  Values result = values_of(problem.count, seed, 0);
  for (int rank = 1; rank < problem.ranks; ++rank) {
    const Values next = values_of(problem.count, seed, rank);
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = problem.commutative ? result[i] + next[i] : compose(result[i], next[i]);
    }
  }
  return result;
}

/// One call after another on one transport.
class Calls {
 public:
  Calls(MPI_Comm comm, const Context& context) : context_(context), transport_(comm) {}

  void reduce(const Problem& problem, MPI_Op op, std::uint64_t seed) {
    const Plan plan =
        make_plan(find_algorithm(Collective::reduce, "local_redirect"), problem, {}, {});
    const Values output = run(plan, op, values_of(problem.count, seed, context_.rank));
    if (problem.root == context_.rank) CHECK(output == right_result(problem, seed));
  }
  void bcast(const Problem& problem, const Parameters& parameters, std::uint64_t seed) {
    const bool ahead = seed % 2 == 0;
    const Algorithm& row = find_algorithm(Collective::bcast, ahead ? "arrival_nb" : "arrival_b");
    const Plan plan = make_plan(row, problem, parameters, {});
    const Values input = values_of(problem.count, seed, problem.root);
    const Values output = run(plan, MPI_OP_NULL, input);
    if (problem.root != context_.rank) CHECK(output == input);
  }
  /// All calls sent control messages or probed for them: some may be left under way.
  void expect_used() { CHECK(transport_.control_used()); }

 private:
  Values run(const Plan& plan, MPI_Op op, const Values& input) {
    const auto executor = make_executor(plan, context_.rank, plan.problem.count);
    Values output(static_cast<std::size_t>(executor->context().output_count));
    transport_.begin(Buffers(Layout(MPI_UINT64_T), input.data(), output.data(), scratch_,
                             executor->context().scratch_count),
                     op, {++number_, executor->context().plan_hash});
    const auto protocol = executor->create_protocol(transport_, {});
    protocol->start();
    protocol->arrive();
    while (protocol->status() == Status::running) {
      if (!transport_.poll(*protocol)) sched_yield();
    }
    CHECK_EQ(protocol->failure(), "");
    return output;
  }

  const Context& context_;
  MpiTransport transport_;
  Scratch scratch_;
  std::uint64_t number_ = 0;
};

/// A communicator with control messages that come too late is kept unfreed: a later one with its
/// context would receive them.
struct Kept {
  MPI_Comm comm = MPI_COMM_NULL;
  Kept() {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }
};

MPI_TEST(a_protocol_reduces_whoever_is_late) {
  const Kept kept;
  MPI_Op composition = MPI_OP_NULL;
  MPI_Op_create(compose_all, 0, &composition);
  Calls calls(kept.comm, context);
  Random random(context.seed);
  for (int i = 0; i < (context.quick ? 30 : 200); ++i) {
    const std::uint64_t seed = random.next();
    const auto late = static_cast<int>(random.below(static_cast<std::uint64_t>(context.ranks)));
    const Count count = random.below(4) == 0 ? 50000 : 7;
    Problem problem{Collective::reduce, context.ranks, count, 8};
    problem.root = static_cast<Rank>(random.below(static_cast<std::uint64_t>(context.ranks)));
    problem.commutative = random.below(2) == 0;
    if (late == context.rank) std::this_thread::sleep_for(std::chrono::milliseconds(seed % 3));
    calls.reduce(problem, problem.commutative ? MPI_SUM : composition, seed);
  }
  if (context.ranks > 1) calls.expect_used();
  MPI_Op_free(&composition);
}

/// Long segments wait for their receivers, short ones are there before them.
MPI_TEST(a_protocol_broadcasts_whoever_is_late) {
  const Kept kept;
  Calls calls(kept.comm, context);
  Random random(context.seed);
  for (int i = 0; i < (context.quick ? 60 : 400); ++i) {
    const std::uint64_t seed = random.next();
    const auto late = static_cast<int>(random.below(static_cast<std::uint64_t>(context.ranks)));
    const Count count = random.below(4) == 0 ? 50000 : 7;
    Problem problem{Collective::bcast, context.ranks, count, 8};
    problem.root = static_cast<Rank>(random.below(static_cast<std::uint64_t>(context.ranks)));
    const Parameters parameters = {{"segments", static_cast<Count>(1 + random.below(20))}};
    if (late == context.rank) std::this_thread::sleep_for(std::chrono::milliseconds(seed % 3));
    calls.bcast(problem, parameters, seed);
  }
  if (context.ranks > 1) calls.expect_used();
}

/// More short messages than some MPI libraries keep for a rank that receives none.
MPI_TEST(a_protocol_broadcasts_far_ahead_of_an_absent_rank) {
  if (context.ranks == 1) return;
  const Kept kept;
  Calls calls(kept.comm, context);
  for (int i = 0; i < 2; ++i) {
    const bool absent = context.rank == 1;
    if (absent) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    calls.bcast({Collective::bcast, context.ranks, 1000, 8}, {{"segments", 500}}, context.seed * 2);
  }
  if (context.ranks > 1) calls.expect_used();
}

}  // namespace
}  // namespace latecomer::testing
