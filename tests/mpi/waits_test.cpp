// Who waits for whom: by definitions that are shared with the reports of traces, from samples that
// all ranks choose alike, and without estimates that cannot be true.
#include <cmath>
#include <set>

#include "base/reproducible.hpp"
#include "communicator.hpp"
#include "runtime/report/job_summary.hpp"
#include "runtime/trace/stamps.hpp"

namespace latecomer::testing {
namespace {

bool about(double one, double other) { return std::abs(one - other) <= 1e-9; }

/// Adds a call whose ranks were ready when they came.
void add(Waits& waits, const std::vector<Seconds>& arrivals, const std::vector<Seconds>& exits,
         bool by_all = false) {
  waits.add(arrivals, exits, arrivals, by_all);
}

MPI_TEST(the_last_rank_is_charged_what_the_others_wait) {
  Waits waits(3);
  add(waits, {0, 1, 5}, {6, 6, 7});
  CHECK(about(waits.waiting[0], 5));
  CHECK(about(waits.waiting[1], 4));
  CHECK(about(waits.waiting[2], 0));
  CHECK(about(waits.moving[2], 2));
  // For the first second two are missing, and each is charged half of what one rank waits.
  CHECK(about(waits.cost[0], 0));
  CHECK(about(waits.cost[1], 0.5));
  CHECK(about(waits.cost[2], 8.5));
  CHECK(about(waits.all_waiting(), 9));
  CHECK(about(waits.lateness[2], 4));
  CHECK_EQ(waits.last[2], 1.0);
}

/// As from a broadcast: it waits for those that come before.
MPI_TEST(a_rank_that_leaves_before_the_last_comes_does_not_wait_for_it) {
  Waits waits(3);
  add(waits, {0, 2, 5}, {3, 3, 6});
  CHECK(about(waits.waiting[0], 2));
  CHECK(about(waits.moving[0], 1));
  CHECK(about(waits.waiting[1], 0));
  CHECK(about(waits.cost[1], 2));
  CHECK(about(waits.cost[2], 0));
  CHECK(about(waits.moving[1], 1));
}

/// In a call that nobody can leave before, clocks that are off say so, and it waits until then.
MPI_TEST(in_a_synchronising_call_all_come_before_a_rank_leaves) {
  Waits waits(2);
  add(waits, {0, 5}, {1, 6}, true);
  CHECK(about(waits.waiting[0], 1));
  CHECK(about(waits.cost[1], 1));
  CHECK(about(waits.lateness[1], 5));  // after the other one: their median is halfway
}

/// Rank 2 comes last, since it waited for rank 1 before.
MPI_TEST(a_rank_is_not_charged_while_it_is_in_mpi_itself) {
  Waits waits(3);
  waits.add(std::vector<Seconds>{0, 5, 7}, std::vector<Seconds>{8, 8, 8},
            std::vector<Seconds>{0, 5, 2});
  CHECK(about(waits.waiting[0], 7));
  CHECK(about(waits.waiting[1], 2));
  CHECK(about(waits.cost[1], 1 + 3));
  CHECK(about(waits.cost[2], 1));
  CHECK(about(waits.lateness[1], 3));
  CHECK_EQ(waits.last[1], 1.0);
}

MPI_TEST(in_a_tie_nobody_is_last) {
  Waits waits(3);
  add(waits, {0, 1, 1}, {2, 2, 2});
  CHECK_EQ(waits.last[1] + waits.last[2], 0.0);
  CHECK(about(waits.cost[1], 0.5) && about(waits.cost[2], 0.5));
}

/// Against a slow sum over ranks and slices of time.
MPI_TEST(costs_are_what_ranks_wait_for_those_that_are_not_ready_and_come_before_they_leave) {
  Random random(context.seed);
  for (int round = 0; round < 200; ++round) {
    const std::size_t ranks = 1 + random.below(7);
    std::vector<Seconds> arrivals;
    std::vector<Seconds> exits;
    std::vector<Seconds> ready;
    for (std::size_t i = 0; i < ranks; ++i) {
      arrivals.push_back(static_cast<double>(random.below(6)));
      exits.push_back(arrivals.back() + static_cast<double>(random.below(6)));
      const auto before = static_cast<double>(random.below(4));
      ready.push_back(arrivals.back() - (round % 2 == 0 ? before : 0));
    }
    double least = 3;
    for (std::size_t i = 0; i < ranks; ++i) least = std::min(least, arrivals[i] - ready[i]);
    std::vector<double> cost(ranks);
    for (std::size_t i = 0; i < ranks; ++i) {
      for (double time = arrivals[i]; time < exits[i]; time += 1) {
        std::vector<std::size_t> missing;
        for (std::size_t k = 0; k < ranks; ++k) {
          const bool comes = arrivals[k] > time && arrivals[k] <= exits[i];
          if (comes && ready[k] + least > time) missing.push_back(k);
        }
        for (const std::size_t k : missing) cost[k] += 1.0 / static_cast<double>(missing.size());
      }
    }
    Waits waits(ranks);
    waits.add(arrivals, exits, ready);
    for (std::size_t i = 0; i < ranks; ++i) {
      CHECK_TEXT(about(waits.cost[i], cost[i]), "seed " + std::to_string(context.seed));
    }
  }
}

MPI_TEST(what_is_left_out_is_as_if_it_had_not_been) {
  const std::vector<Seconds> arrivals{0, 3};
  const std::vector<Seconds> exits{4, 4};
  Waits waits(2);
  Waits one(2);
  add(waits, arrivals, exits);
  add(one, arrivals, exits);
  add(waits, {10, 11}, {12, 12});
  waits.remove(one);
  CHECK_EQ(waits.calls, 1U);
  CHECK(about(waits.all_waiting(), 1));
  CHECK(about(waits.cost[1], 1));
}

std::set<std::uint32_t> numbers(stamps::CommStamps& of) {
  std::set<std::uint32_t> found;
  for (const stamps::Stamp& each : of.kept()) found.insert(each.sequence);
  return found;
}

MPI_TEST(smaller_samples_are_parts_of_larger_ones_whenever_they_were_taken) {
  stamps::Members members;
  stamps::CommStamps early(1, {}, &members);
  stamps::CommStamps late(1, {}, &members);
  early.thin();
  for (std::uint32_t i = 0; i < 4000; ++i) {
    early.add({.sequence = i});
    late.add({.sequence = i});
  }
  late.thin();
  CHECK_EQ(early.calls(), 4000U);
  CHECK(numbers(early) == numbers(late));
  CHECK(late.kept().size() > 1800 && late.kept().size() < 2200);
  early.thin();
  late.reduce_to(early.mask());
  CHECK(numbers(early) == numbers(late));
}

/// Calls of a loop have numbers with equal last bits.
MPI_TEST(a_sample_has_calls_of_all_places_of_a_loop) {
  stamps::Members members;
  stamps::CommStamps stamps(1, {}, &members);
  for (std::uint32_t i = 0; i < 4000; ++i) stamps.add({.sequence = i});
  stamps.thin();
  std::array<int, 4> of{};
  for (const stamps::Stamp& each : stamps.kept()) ++of[each.sequence % 4];
  for (const int calls : of) CHECK(calls > 400 && calls < 600);
}

JobSummary job_with_estimate(Seconds saved, Seconds range) {
  JobSummary job;
  job.ranks = 2;
  job.elapsed = 5.7;
  job.waiting = 1;
  job.moving = 2;
  job.calls.handled = 1977;
  job.estimated = 1874;
  job.saved = saved;
  job.saved_range = range;
  return job;
}

MPI_TEST(an_estimate_that_cannot_be_true_is_not_told) {
  CHECK(has_estimate(job_with_estimate(1.2, 0.5)));
  CHECK(describe(job_with_estimate(1.2, 0.5)).find("saved an estimated 1.2 s") !=
        std::string::npos);
  for (const JobSummary& job : {
           job_with_estimate(18, 0.5),    // more than the run took
           job_with_estimate(5, 1),       // perhaps so
           job_with_estimate(-3.5, 0.1),  // more was lost than calls took
           job_with_estimate(1.2, -1),    // nobody knows how sure it is
       }) {
    CHECK(!has_estimate(job));
    CHECK(describe(job).find("There is no estimate") != std::string::npos);
    CHECK(json(job).find("\"saved_s\":null,\"saved_range_s\":null,\"estimated_calls\":0") !=
          std::string::npos);
  }
}

MPI_TEST(what_was_not_looked_at_is_in_the_sentence_with_the_shares) {
  JobSummary job;
  job.nonblocking = 120;
  job.neighbour = 7;
  const std::string first = describe(job).substr(0, describe(job).find(')'));
  CHECK(first.find("120 non-blocking collectives") != std::string::npos);
  CHECK(first.find("7 collectives among neighbours") != std::string::npos);
  CHECK(first.find("messages between two ranks") != std::string::npos);
}

}  // namespace
}  // namespace latecomer::testing
