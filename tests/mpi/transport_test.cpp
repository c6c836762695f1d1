// The transport alone: the cost of repeated calls, bounds of the memory it keeps and the messages
// it posts, and messages that no rank of this library would send.
#include "transports/mpi/transport.hpp"

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "allocations.hpp"
#include "base/reproducible.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runner.hpp"
#include "telemetry/watch.hpp"
#include "transport_calls.hpp"

namespace latecomer::testing {
namespace {

using Values = std::vector<std::uint64_t>;

/// Rank r's element i is r + i in calls that combine; of others it is the element's own number.
struct Data {
  Values input, output;
  const Problem& problem;

  Data(const Problem& of, const RankContext& context, int rank)
      : input(static_cast<std::size_t>(context.input_count)),
        output(static_cast<std::size_t>(context.output_count)),
        problem(of) {
    for (std::size_t i = 0; i < input.size(); ++i) {
      input[i] = i + static_cast<std::uint64_t>(rank);
    }
  }
  /// True if the output is right for an all-reduce that sums.
  [[nodiscard]] bool right_sum() const {
    const auto ranks = static_cast<std::uint64_t>(problem.ranks);
    for (std::size_t i = 0; i < output.size(); ++i) {
      if (output[i] != ranks * i + ranks * (ranks - 1) / 2) return false;
    }
    return true;
  }
};

Plan plan_of(Collective collective, const char* algorithm, const Problem& problem,
             bool telemetry = false) {
  return make_plan(find_algorithm(collective, algorithm), problem, {}, {{}, {}, telemetry});
}

Problem bcast_of(Count count) { return {Collective::bcast, 2, count, 8}; }

MPI_TEST(calls_after_the_first_allocate_nothing) {
  if (context.ranks == 1) return;
  for (const char* algorithm : {"recursive_doubling", "ring", "rabenseifner", "linear_tree"}) {
    for (const Count count : {1, 50000}) {
      const Communicator comm = Communicator::returning_errors();
      MpiTransport transport(comm);
      const Problem problem{Collective::allreduce, context.ranks, count, 8};
      const Plan plan = plan_of(Collective::allreduce, algorithm, problem, true);
      TransportCalls calls(transport, plan, context.rank);
      Data data(problem, calls.context(), context.rank);
      ArrivalStamps stamps(context.ranks);
      std::uint64_t number = 0;
      const auto call = [&] {
        stamps.begin();
        stamps.arrive(context.rank, {1.0, 0, 0});
        calls(++number, data.input.data(), data.output.data(), MPI_SUM, &stamps);
      };
      for (int i = 0; i < 10; ++i) call();
      const std::size_t fewest = fewest_allocations(5, [&] {
        for (int i = 0; i < 5; ++i) call();
      });
      CHECK_EQ(fewest, 0U);
      CHECK_TEXT(data.right_sum() && stamps.complete(), algorithm);
    }
  }
}

/// Room for one message at a time, as if ranks were many: ranks do not wait in a circle, not even
/// where later messages of a rank are received before its first.
MPI_TEST(every_program_ends_with_room_for_one_message) {
  if (context.ranks == 1) return;
  const Communicator comm = Communicator::returning_errors();
  MpiTransport transport(comm, MpiTransport::kLargestPiece, 1);
  std::uint64_t number = 0;
  for (const Collective collective : all_collectives()) {
    for (const Algorithm& row : registry(collective)) {
      if (row.kind != latecomer::Kind::program) continue;
      for (const Count count : {Count{3} * context.ranks, Count{20000} * context.ranks}) {
        const std::string name(row.name);
        const Problem problem{collective, context.ranks, count, 8};
        const Plan plan = plan_of(collective, name.c_str(), problem, true);
        TransportCalls calls(transport, plan, context.rank);
        Data data(problem, calls.context(), context.rank);
        CHECK_EQ(calls(++number, data.input.data(), data.output.data(), MPI_SUM), "");
        if (collective == Collective::allreduce) CHECK_TEXT(data.right_sum(), name);
      }
    }
  }
  CHECK_EQ(transport.staged_receives(), 0U);
}

/// With room for two messages two receives are posted; the others follow.
MPI_TEST(receives_of_first_messages_wait_for_room) {
  if (context.ranks < 4) return;
  const Communicator comm = Communicator::returning_errors();
  MpiTransport transport(comm, MpiTransport::kLargestPiece, 80000);
  const Problem problem{Collective::allgather, context.ranks, context.ranks, 8};
  Values output(static_cast<std::size_t>(context.ranks));
  const std::uint64_t mine = 7;
  Scratch scratch;
  transport.begin(Buffers(Layout(MPI_UINT64_T), &mine, output.data(), scratch, 0), MPI_SUM, {1, 1});
  struct Counting final : Protocol {
    int open = 0;
    std::string none;
    void start() override {}
    void arrive() override {}
    void completed(const Completion& completion) override {
      CHECK_EQ(completion.error, MPI_SUCCESS);
      --open;
    }
    [[nodiscard]] Status status() const override {
      return open == 0 ? Status::done : Status::running;
    }
    [[nodiscard]] const std::string& failure() const override { return none; }
    [[nodiscard]] std::string waiting_for() const override { return {}; }
  } protocol;
  Token token = 0;
  for (Rank peer = 0; peer < context.ranks; ++peer) {
    if (peer == context.rank) continue;
    transport.post(Operation::recv(peer, {Buffer::output, peer, 1}), token++, {.first = true});
    ++protocol.open;
  }
  CHECK_EQ(transport.staged_receives(), 2U);
  CHECK_EQ(transport.awaited().size(), static_cast<std::size_t>(context.ranks - 1));
  MPI_Barrier(comm);
  for (Rank peer = 0; peer < context.ranks; ++peer) {
    if (peer == context.rank) continue;
    transport.post(Operation::send(peer, {Buffer::input, 0, 1}), token++, {.first = true});
    ++protocol.open;
  }
  while (protocol.status() == Status::running) {
    if (!transport.poll(protocol)) sched_yield();
    CHECK(transport.staged_receives() <= 2);
  }
  output[static_cast<std::size_t>(context.rank)] = mine;
  CHECK(output == Values(output.size(), mine));
}

/// After calls with many long messages, some with short ones: memory goes.
MPI_TEST(memory_of_messages_follows_the_need) {
  Staging staging;
  std::vector<Staging::Block> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(staging.take(30000));
  for (Staging::Block& block : blocks) staging.give_back(std::move(block));
  CHECK_EQ(staging.kept(), 100U * 32768);
  for (int call = 0; call < 200; ++call) {
    staging.begin_call();
    staging.give_back(staging.take(30000));
    staging.give_back(staging.take(256));
    staging.give_back(staging.take(std::size_t{3} << 20));  // too long to be kept
  }
  CHECK_EQ(staging.kept(), 2 * 32768U + 256U);
}

MPI_TEST(memory_of_messages_is_left_to_the_next_call) {
  Staging one;
  Staging other;
  one.begin_call();
  one.give_back(one.take(30000));
  const std::size_t kept = one.kept();
  const std::size_t unused = Staging::unused();
  CHECK(kept >= 32768U);
  one.end_call();
  CHECK_EQ(one.kept(), 0U);
  CHECK_EQ(Staging::unused(), unused + kept);
  other.begin_call();
  CHECK_EQ(other.kept(), kept);
  one.begin_call();  // while the other one's call goes on
  one.give_back(one.take(256));
  CHECK_EQ(other.kept(), kept);
  one.end_call();
  other.end_call();
}

/// Rank 0 sends a first message that no rank of the plan would send, and no other one.
void receive_as_another_plans(const Context& context, Count count, const Values& message) {
  if (context.ranks == 1 || context.rank > 1) return;
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group two = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  const int members[] = {0, 1};
  MPI_Group_incl(all, 2, members, &two);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_create_group(MPI_COMM_WORLD, two, 1, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const Plan plan = plan_of(Collective::bcast, "binomial", bcast_of(count));
  Values output(static_cast<std::size_t>(count));
  if (context.rank == 1) {
    MpiTransport transport(comm);
    TransportCalls calls(transport, plan, 1);
    const std::string why = calls(1, nullptr, output.data(), MPI_SUM);
    CHECK_EQ(why, "rank 0 follows another plan than rank 1");
    (void)transport.abandon();
  } else {
    const int bytes = static_cast<int>(message.size() * sizeof message[0]);
    MPI_Send(message.data(), bytes, MPI_PACKED, 1, Tags(comm).first(1), comm);
  }
  MPI_Comm_free(&comm);
  MPI_Group_free(&two);
  MPI_Group_free(&all);
}

/// A first message that claims to carry so many bytes that the sum with the others overflows to the
/// right length is not believed.
MPI_TEST(a_message_that_claims_too_much_is_another_plans) {
  const Plan plan = plan_of(Collective::bcast, "binomial", bcast_of(1000));
  const std::uint64_t hash = make_executor(plan, 1, 0)->context().plan_hash;
  // 16 bytes of head and 24 of elements, where 8000 are expected: words = 24 - 8000.
  receive_as_another_plans(context, 1000, {hash, std::uint64_t{24} - 8000, 1, 2, 3});
}

/// Further messages have tags of the plan, so those of another one never come.
MPI_TEST(another_plan_is_noticed_by_the_head_of_a_long_message) {
  Values message(2 + 4096);  // a head, which names another plan, and as many elements as it carries
  message[0] = 1;
  receive_as_another_plans(context, 100000, message);
}

MPI_TEST(first_messages_share_no_tag_with_later_ones) {
  const auto members = std::make_shared<const Members>(std::vector<int>{0});
  const Link link(MPI_COMM_WORLD, members, 0, 4096, 2048);
  const Tags tags(link);
  Random random(1);
  for (int i = 0; i < 10000; ++i) {
    const int first = Tags::first(random.next());
    const int later = tags.of(random.below(100000), random.next(), i % 64);
    CHECK(first > Tags::kMemory && first < later && later < link.tags());
  }
}

// --- MPI_COMM_SELF ---

MPI_Errhandler set_meanwhile = MPI_ERRHANDLER_NULL;
bool fatal_meanwhile = false;

void sum_and_set(void* left, void* right, int* count, MPI_Datatype* /*type*/) {
  MPI_Errhandler now = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_SELF, &now);
  fatal_meanwhile = fatal_meanwhile || now == MPI_ERRORS_ARE_FATAL;
  MPI_Errhandler_free(&now);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, set_meanwhile);
  for (int i = 0; i < *count; ++i) static_cast<int*>(right)[i] += static_cast<int*>(left)[i];
}

void ignore(MPI_Comm* /*comm*/, int* /*code*/, ...) {}

/// As another thread may while a call waits.
MPI_TEST(the_error_handler_of_comm_self_is_the_programs) {
  if (context.ranks == 1) return;
  MPI_Comm_create_errhandler(ignore, &set_meanwhile);
  fatal_meanwhile = false;
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(sum_and_set, 1, &op);
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "recursive_doubling");
  const int mine[] = {1, 2};
  int sum[] = {0, 0};
  CHECK_EQ(latecomer_allreduce(mine, sum, 2, MPI_INT, op, comm), MPI_SUCCESS);
  CHECK(sum[0] == context.ranks && sum[1] == 2 * context.ranks);
  MPI_Errhandler after = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_SELF, &after);
  // On ranks that do not combine the handler is untouched.
  if (fatal_meanwhile) CHECK(after == set_meanwhile);
  bool anybody = false;
  MPI_Allreduce(&fatal_meanwhile, &anybody, 1, MPI_C_BOOL, MPI_LOR, comm);
  CHECK(anybody);
  if (after != MPI_ERRORS_ARE_FATAL) MPI_Errhandler_free(&after);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&set_meanwhile);
  MPI_Op_free(&op);
}

}  // namespace
}  // namespace latecomer::testing
