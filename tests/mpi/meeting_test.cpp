// Meetings: all ranks of a communicator agree, or none.
#include "runtime/connection/meeting.hpp"

#include <cstring>

#include "communicator.hpp"
#include "runner.hpp"
#include "runtime/connection/internal_comm.hpp"
#include "transports/mpi/mailbox.hpp"

namespace latecomer::testing {
namespace {

/// The communicator that meetings use, and names: made once, in the first test.
void set_up() {
  if (shared_comm::exists()) return;
  CHECK_EQ(shared_comm::make(), MPI_SUCCESS);
  name_world();
}

Told told_of(int number) {
  Told told(sizeof number);
  std::memcpy(told.data(), &number, sizeof number);
  return told;
}

std::vector<int> numbers_of(const Told& told) {
  std::vector<int> numbers(told.size() / sizeof(int));
  std::memcpy(numbers.data(), told.data(), told.size());
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

void append(Told& all, const Told& theirs) { all.insert(all.end(), theirs.begin(), theirs.end()); }

constexpr Seconds kPatience = 60;  // nobody is missing here

MPI_TEST(meetings_give_all_ranks_what_each_told) {
  if (context.ranks == 1) return;  // nobody to meet
  set_up();
  const auto identity = identity_of(MPI_COMM_WORLD);
  CHECK(identity.has_value());
  for (std::uint64_t number = 1; number <= 20; ++number) {
    Told told = told_of(context.rank);
    const Met met =
        meet({*identity, number, 7, kPatience}, told, append, [](const Told&) { return true; });
    CHECK(met == Met::agreed);
    const std::vector<int> numbers = numbers_of(told);
    CHECK_EQ(numbers.size(), static_cast<std::size_t>(context.ranks));
    for (std::size_t i = 0; i < numbers.size(); ++i) CHECK_EQ(numbers[i], static_cast<int>(i));
  }
}

MPI_TEST(meetings_are_declined_on_all_ranks_if_one_declines) {
  if (context.ranks == 1) return;  // nobody to meet
  set_up();
  const auto identity = identity_of(MPI_COMM_WORLD);
  for (int who = 0; who < context.ranks; ++who) {
    Told told = told_of(1);
    const Met met = meet({*identity, static_cast<std::uint64_t>(100 + who), 7, kPatience}, told,
                         append, [&](const Told&) { return context.rank != who; });
    CHECK(met == Met::declined);
    CHECK(!meets_no_more());
  }
}

/// Two groups, which share no communicator but MPI_COMM_WORLD.
MPI_Comm merged_halves(const Context& context) {
  const int side = context.rank % 2;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm both = MPI_COMM_NULL;
  MPI_Comm all = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 9, &both);
  name_by_ranks(MPI_COMM_WORLD, 0, both);
  CHECK(!has_identity(both));
  MPI_Intercomm_merge(both, side, &all);
  name_child(both, all);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
  return all;
}

MPI_TEST(communicators_are_named_alike_on_their_ranks_and_apart_from_others) {
  set_up();
  std::vector<MPI_Comm> made(6, MPI_COMM_NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &made[0]);
  name_child(MPI_COMM_WORLD, made[0]);
  MPI_Comm_dup(MPI_COMM_WORLD, &made[1]);
  name_child(MPI_COMM_WORLD, made[1]);
  MPI_Comm_split(made[0], context.rank % 2, -context.rank, &made[2]);
  name_child(made[0], made[2]);
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (const int tag : {3, 4}) {
    MPI_Comm& comm = made[static_cast<std::size_t>(tag)];
    MPI_Comm_create_group(MPI_COMM_WORLD, world, tag, &comm);
    name_by_ranks(MPI_COMM_WORLD, static_cast<std::uint64_t>(tag), comm);
  }
  MPI_Group_free(&world);
  MPI_Request request = MPI_REQUEST_NULL;
  {
    const Duplicating duplicating(MPI_COMM_WORLD);
    MPI_Comm_idup(MPI_COMM_WORLD, &made[5], &request);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (context.ranks > 1) {
    for (int i = 0; i < 2; ++i) made.push_back(merged_halves(context));
  }
  std::vector<std::uint64_t> names;
  if (context.ranks > 1) names.push_back(identity_of(MPI_COMM_WORLD)->name);
  for (MPI_Comm& comm : made) {
    const auto identity = identity_of(comm);
    int ranks = 0;
    MPI_Comm_size(comm, &ranks);
    if (ranks == 1) {  // it has nobody to meet
      CHECK(!identity.has_value());
      continue;
    }
    CHECK(identity.has_value());
    names.push_back(identity->name);
    unsigned long long name = identity->name;
    MPI_Bcast(&name, 1, MPI_UNSIGNED_LONG_LONG, 0, comm);
    CHECK_EQ(name, identity->name);
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    CHECK_EQ(identity->members->place(rank), context.rank);
    CHECK_EQ(identity->members->at(context.rank), rank);
  }
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  MPI_Comm unnamed = MPI_COMM_NULL;
  MPI_Comm_dup(made[1], &unnamed);
  CHECK(!has_identity(unnamed));
  MPI_Comm child = MPI_COMM_NULL;
  MPI_Comm_dup(unnamed, &child);
  name_child(unnamed, child);  // of a parent that nobody knows
  CHECK_EQ(has_identity(child), context.ranks > 1);
  for (MPI_Comm* const comm : {&child, &unnamed}) MPI_Comm_free(comm);
  for (MPI_Comm& comm : made) MPI_Comm_free(&comm);
}

MPI_TEST(slots_are_taken_once) {
  set_up();
  const Slot first = shared_comm::propose(0);
  CHECK(shared_comm::propose(0) > first);
  CHECK(shared_comm::propose(first + 10) > first + 10);
  CHECK(shared_comm::take(first + 5));
  CHECK(!shared_comm::take(first + 5));
  shared_comm::give_back(first + 5);
  CHECK(shared_comm::take(first + 5));
  CHECK(!shared_comm::take(Slot{1} << 40));  // beyond the tags
  MPI_Barrier(MPI_COMM_WORLD);
}

MPI_TEST(messages_of_links_on_the_same_communicator_stay_apart) {
  if (context.ranks == 1) return;  // nobody to meet
  set_up();
  const auto identity = identity_of(MPI_COMM_WORLD);
  const Slot slot = 40 + 2 * static_cast<Slot>(context.ranks);
  CHECK(shared_comm::take(slot));
  CHECK(shared_comm::take(slot + 1));
  Mailbox one(shared_comm::link_of(slot, identity->members, identity->me), 3);
  Mailbox other(shared_comm::link_of(slot + 1, identity->members, identity->me), 3);
  const Rank next = (context.rank + 1) % context.ranks;
  const int words[] = {1, 2};
  other.send(next, &words[1], sizeof(int));
  one.send(next, &words[0], sizeof(int));
  for (const auto& [mailbox, word] : {std::pair{&one, 1}, std::pair{&other, 2}}) {
    for (;;) {
      const auto envelope = mailbox->receive();
      if (!envelope) continue;
      CHECK_EQ(envelope->from, (context.rank + context.ranks - 1) % context.ranks);
      CHECK_EQ(*envelope->as<int>(), word);
      break;
    }
  }
}

}  // namespace
}  // namespace latecomer::testing
