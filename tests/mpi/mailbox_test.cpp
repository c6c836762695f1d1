// Small messages beside those of calls: in order, of the right size, never waited for.
#include "transports/mpi/mailbox.hpp"

#include <sched.h>
#include <unistd.h>

#include <memory>
#include <thread>
#include <vector>

#include "allocations.hpp"
#include "communicator.hpp"
#include "runner.hpp"
#include "runtime/connection/block_exchange.hpp"
#include "runtime/progress/plan_channel.hpp"
#include "transports/mpi/link.hpp"

namespace latecomer::testing {
namespace {

constexpr int kTag = Tags::kPlans;

template <class Receive>
auto wait_for(Receive&& receive) {
  auto received = receive();
  while (!received) {
    sched_yield();
    received = receive();
  }
  return received;
}

MPI_TEST(messages_keep_their_order_and_size) {
  const Communicator comm = Communicator::returning_errors();
  Mailbox mailbox(comm, kTag);
  CHECK(!mailbox.used());
  CHECK(!mailbox.receive());
  CHECK(!mailbox.used());
  MPI_Barrier(comm);
  const int next = (context.rank + 1) % context.ranks;
  const int previous = (context.rank + context.ranks - 1) % context.ranks;
  for (int i = 0; i < 20; ++i) mailbox.send(next, &i, sizeof i);
  mailbox.send(next, nullptr, 0);
  CHECK(mailbox.used());
  for (int i = 0; i < 20; ++i) {
    const auto got =
        wait_for([&] { return i % 2 == 0 ? mailbox.receive() : mailbox.receive_from(previous); });
    CHECK_EQ(got->from, previous);
    CHECK_EQ(got->as<int>().value_or(-1), i);
    CHECK(!got->as<double>());
  }
  CHECK(wait_for([&] { return mailbox.receive(); })->content.empty());
  while (!mailbox.idle()) sched_yield();
  CHECK_EQ(mailbox.error(), MPI_SUCCESS);
  MPI_Barrier(comm);
}

LastCalls calls_at(Rank rank, int block) {
  LastCalls calls;
  calls.note({100.0 * block + rank, 100.0 * block + rank + 1});
  return calls;
}

/// Ranks tell of blocks of two classes, on two communicators in turn, however far apart they are.
MPI_TEST(ranks_tell_each_other_of_blocks) {
  constexpr CallKey kOne = 7;
  constexpr CallKey kOther = 9;
  const Communicator comm = Communicator::returning_errors();
  BlockExchange exchange(comm);
  for (std::uint64_t owner = 1; owner <= 2; ++owner) {
    CHECK(exchange.ended(owner, kOne));  // this rank has not told of any
    for (int block = 0; block < 6; ++block) {
      for (const CallKey key : {kOne, kOther}) {
        if (block % 3 == context.rank % 3) usleep(2000);
        if (exchange.begun(owner, key)) {
          while (!exchange.ended(owner, key)) sched_yield();
          const std::vector<LastCalls> told = exchange.take(owner, key);
          CHECK_EQ(static_cast<Rank>(told.size()), context.ranks);
          for (Rank rank = 0; rank < context.ranks; ++rank) {
            const TimeInside last = told[static_cast<std::size_t>(rank)].ago(0);
            CHECK_EQ(last.exit, calls_at(rank, block - 1).ago(0).exit);
          }
        }
        exchange.drop_unless([](CallKey) { return true; });
        exchange.begin(owner, key, calls_at(context.rank, block));
      }
    }
    exchange.end(owner, 60);
    CHECK(!exchange.leaves_messages());
    CHECK(!exchange.begun(owner, kOne));
  }
  CHECK_EQ(exchange.code(), MPI_SUCCESS);
}

/// A class that was dropped begins anew, maybe on another rank first.
MPI_TEST(ranks_tell_of_a_class_that_was_dropped) {
  constexpr CallKey kKey = 7;
  const Communicator comm = Communicator::returning_errors();
  BlockExchange exchange(comm);
  exchange.begin(1, kKey, calls_at(context.rank, 0));
  if (context.rank == 0) usleep(5000);
  exchange.drop_unless([](CallKey) { return false; });
  if (exchange.begun(1, kKey)) {
    while (!exchange.ended(1, kKey)) sched_yield();
    (void)exchange.take(1, kKey);
  }
  exchange.begin(1, kKey, calls_at(context.rank, 1));
  if (context.rank == 1) usleep(5000);
  exchange.drop_unless([](CallKey) { return true; });
  while (!exchange.ended(1, kKey)) sched_yield();
  for (const LastCalls& each : exchange.take(1, kKey)) CHECK(each.ago(0).exit > 100);
  exchange.end(1, 60);
}

/// A rank that does not tell keeps nobody for long.
MPI_TEST(a_communicator_ends_without_what_others_have_not_told) {
  const Communicator comm = Communicator::returning_errors();
  BlockExchange exchange(comm);
  const bool tells = context.rank > 0;
  if (tells) exchange.begin(1, 7, calls_at(context.rank, 0));
  MPI_Barrier(MPI_COMM_WORLD);
  exchange.end(1, 0.01);
  CHECK_EQ(exchange.leaves_messages(), tells);
  MPI_Barrier(MPI_COMM_WORLD);
  Mailbox after(comm, kTag);
  if (!tells) {
    exchange.begin(1, 7, calls_at(context.rank, 0));
    for (Rank peer = 1; peer < context.ranks; ++peer) after.send(peer, nullptr, 0);
  } else {
    (void)wait_for([&] { return after.receive(); });
  }
  CHECK(exchange.ended(2, 7));
  MPI_Barrier(MPI_COMM_WORLD);
  // What they told of the last communicator is dropped.
  exchange.begin(2, 7, calls_at(context.rank, 1));
  while (!exchange.ended(2, 7)) sched_yield();
  for (const LastCalls& each : exchange.take(2, 7)) CHECK(each.ago(0).exit > 100);
  exchange.end(2, 60);
}

bool anything_came(MPI_Comm comm) {
  int found = 0;
  PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, MPI_STATUS_IGNORE);
  return found != 0;
}

/// Messages to a link that has gone are received when others go.
MPI_TEST(messages_to_a_link_that_has_gone_are_received) {
  const Communicator gone = Communicator::returning_errors();
  static const auto& kept = *new Communicator(Communicator::returning_errors());  // never freed
  const int next = (context.rank + 1) % context.ranks;
  receive_leftovers_of(Link(gone));
  MPI_Barrier(MPI_COMM_WORLD);  // else this call would receive what another rank has sent already
  for (const int tag : {Tags::kControl, Tags::kFailures, Tags::kBlocks, Tags::kPlans}) {
    Mailbox mailbox(gone, tag);
    mailbox.send(next, &tag, sizeof tag);
  }
  Mailbox::finish(60);
  MPI_Barrier(MPI_COMM_WORLD);
  while (!anything_came(gone)) sched_yield();
  while (anything_came(gone)) receive_leftovers_of(Link(kept));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 40; ++i) receive_leftovers_of(Link(kept));  // then the other is forgotten
}

/// Longer than an eager message of MPI: it is under way when its mailbox goes.
MPI_TEST(a_message_outlives_its_mailbox) {
  const Communicator comm = Communicator::returning_errors();
  if (context.rank == 0 && context.ranks > 1) {
    const std::vector<int> content(1 << 20, 5);
    {
      Mailbox mailbox(comm, kTag);
      mailbox.send(1, content.data(), content.size() * sizeof(int));
    }
    const std::vector<int> others(1 << 20, 6);  // where freed memory would be used again
    MPI_Barrier(comm);
    CHECK(Mailbox::finish(60));
    CHECK_EQ(others[0], 6);
  } else {
    MPI_Barrier(comm);
  }
  if (context.rank == 1) {
    Mailbox mailbox(comm, kTag);
    const auto got = wait_for([&] { return mailbox.receive(); });
    CHECK_EQ(got->content.size(), sizeof(int) << 20);
    int wrong = 0;
    for (std::size_t i = 0; i < got->content.size(); i += sizeof(int)) {
      int value = 0;
      std::memcpy(&value, got->content.data() + i, sizeof value);
      if (value != 5) ++wrong;
    }
    CHECK_EQ(wrong, 0);
  }
  MPI_Barrier(comm);
}

MPI_TEST(further_messages_allocate_nothing) {
  const Communicator comm = Communicator::returning_errors();
  Mailbox mailbox(comm, kTag);
  const auto round = [&] {
    const int next = (context.rank + 1) % context.ranks;
    mailbox.send(next, &next, sizeof next);
    wait_for([&] { return mailbox.receive(); });
    while (!mailbox.idle()) sched_yield();
  };
  round();
  CHECK_EQ(fewest_allocations(5, round), 0U);
  MPI_Barrier(comm);
}

/// Messages of an owner, a kind, a call or a length that no rank of this library writes.
MPI_TEST(messages_that_cannot_be_read_are_dropped) {
  const Communicator comm = Communicator::returning_errors();
  PlanChannel channel(comm, 1);
  Mailbox raw(comm, Tags::kPlans);
  const auto send_changed = [&](std::size_t at, std::uint64_t value, std::size_t size) {
    // owner, kind, call, known, signature of three, arrival, weight, row
    std::uint64_t words[10] = {1};
    words[at] = value;
    raw.send(context.rank, words, size);
  };
  CHECK(is_valid(CallSignature{}, context.ranks));
  CHECK(!is_valid({0, 0, 0, kCollectives, 0}, context.ranks));
  CHECK(!is_valid({0, 100, 0, 0, 0}, context.ranks));
  CHECK(!is_valid({0, 0, 1000, 0, 0}, context.ranks));
  CHECK(!is_valid({0, 0, 0, 0, context.ranks}, context.ranks));
  CHECK(!is_valid({0, 0, 0, 0, -1}, context.ranks));
  CHECK(!is_valid({~std::uint64_t{0}, 0, 0, 0, 0}, context.ranks));
  send_changed(0, 2, 80);                                  // owner
  send_changed(1, 4, 80);                                  // kind
  send_changed(5, std::uint64_t{kCollectives} << 32, 80);  // collective
  send_changed(0, 1, 28);                                  // length
  channel.send(context.rank, {{PlanMessage::Kind::report, 77, 3, {}, 1.5, 0.5, 0}, "text"});
  const auto got = wait_for([&] { return channel.receive(); });
  CHECK_EQ(got->message.call, 77U);
  CHECK_EQ(got->message.text, "text");
  CHECK_EQ(channel.error(), MPI_SUCCESS);
}

}  // namespace
}  // namespace latecomer::testing
