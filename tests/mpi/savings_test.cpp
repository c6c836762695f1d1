// The estimate of the time that was saved: right for times that are known, silent where nothing is
// known, and its range holds the truth as often as it says.
#include <cmath>

#include "base/reproducible.hpp"
#include "communicator.hpp"
#include "runtime/report/job_summary.hpp"
#include "runtime/report/statistics.hpp"

namespace latecomer::testing {
namespace {

using By = Savings::By;

bool about_equal(double one, double other) { return std::abs(one - other) <= 1e-9; }

void add_calls(Savings& savings, CallKey key, By by, int calls, Seconds lateness, Seconds taken) {
  for (int i = 0; i < calls; ++i) savings.add(key, by, Savings::Timed{lateness, false, taken});
}

MPI_TEST(a_class_without_the_librarys_times_has_no_estimate) {
  Savings savings;
  CHECK_EQ(savings.estimate().calls, 0U);
  add_calls(savings, 1, By::handled, 9, 0.01, 2e-3);
  add_calls(savings, 1, By::library, 2, 0.01, 3e-3);  // too few
  add_calls(savings, 2, By::library, 9, 0.01, 3e-3);  // of another class
  CHECK_EQ(savings.estimate().calls, 0U);
  CHECK_EQ(savings.estimate().saved, 0.0);
  add_calls(savings, 1, By::library, 1, 0.01, 3e-3);
  CHECK_EQ(savings.estimate().calls, 9U);
  CHECK(about_equal(savings.estimate().saved, 9e-3));
  CHECK(savings.estimate().rough);  // one stretch only
}

MPI_TEST(what_is_slower_than_the_library_lost_time) {
  Savings savings;
  add_calls(savings, 1, By::library, 3, 0, 1e-3);
  add_calls(savings, 1, By::handled, 5, 0, 3e-3);
  CHECK(about_equal(savings.estimate().saved, -10e-3));
}

MPI_TEST(calls_in_which_ranks_came_otherwise_are_not_compared) {
  Savings savings;
  add_calls(savings, 1, By::library, 5, 0, 1e-3);      // all together
  add_calls(savings, 1, By::handled, 5, 0.1, 0.2e-3);  // one very late
  CHECK_EQ(savings.estimate().calls, 0U);
  add_calls(savings, 1, By::library, 3, 0.11, 0.7e-3);  // about as late
  CHECK_EQ(savings.estimate().calls, 5U);
  CHECK(about_equal(savings.estimate().saved, 5 * 0.5e-3));
  add_calls(savings, 1, By::handled, 4, 0.2e-3, 1.5e-3);  // hardly later than together
  CHECK_EQ(savings.estimate().calls, 9U);
  CHECK(about_equal(savings.estimate().saved, 5 * 0.5e-3 - 4 * 0.5e-3));
}

MPI_TEST(a_late_root_is_a_case_of_its_own) {
  Savings savings;
  for (int i = 0; i < 4; ++i) {
    savings.add(1, By::library, Savings::Timed{0.01, true, 0.02});
    savings.add(1, By::handled, Savings::Timed{0.01, false, 0.001});
  }
  CHECK_EQ(savings.estimate().calls, 0U);
  savings.add(1, By::handled, Savings::Timed{0.01, true, 0.015});
  CHECK_EQ(savings.estimate().calls, 1U);
  CHECK(about_equal(savings.estimate().saved, 0.005));
}

MPI_TEST(calls_with_unknown_arrivals_count_like_the_others_of_their_class) {
  Savings savings;
  add_calls(savings, 1, By::library, 3, 0, 3e-3);
  add_calls(savings, 1, By::handled, 4, 0, 2e-3);
  for (int i = 0; i < 12; ++i) savings.add(1, By::handled, std::nullopt);
  for (int i = 0; i < 12; ++i) savings.add(2, By::handled, std::nullopt);  // nothing to go by
  CHECK_EQ(savings.estimate().calls, 16U);
  CHECK(about_equal(savings.estimate().saved, 16e-3));
}

MPI_TEST(savings_stay_bounded) {
  Savings savings;
  for (CallKey key = 0; key < 2 * Savings::kMaxClasses; ++key) {
    add_calls(savings, key, By::library, 3, 0, 2e-3);
    add_calls(savings, key, By::handled, 1, 0, 1e-3);
  }
  CHECK_EQ(savings.estimate().calls, std::uint64_t{Savings::kMaxClasses});
  Savings many;
  for (int i = 0; i < 40; ++i) {
    add_calls(many, 1, By::library, 3, std::exp2(2 * i), 2e-3);
    add_calls(many, 1, By::handled, 1, std::exp2(2 * i), 1e-3);
  }
  const std::uint64_t calls = many.estimate().calls;
  CHECK(calls > 0 && calls <= Savings::kMaxSituations);
}

/// About normal: the sum of twelve.
double noise(Random& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random.uniform();
  return sum;
}

MPI_TEST(stretches_of_the_librarys_calls_are_one_sample_each) {
  Savings savings;
  const auto stretch = [&](Seconds library, Seconds handled) {
    add_calls(savings, 1, By::library, 3, 0, library);
    add_calls(savings, 1, By::handled, 10, 0, handled);
  };
  stretch(2e-3, 1e-3);
  CHECK(savings.estimate().rough);
  stretch(2e-3, 1e-3);
  CHECK(!savings.estimate().rough);
  CHECK(about_equal(half_range(savings.estimate()), 0));
  stretch(5e-3, 1e-3);
  CHECK(half_range(savings.estimate()) > savings.estimate().saved);  // nothing is known for sure
  add_calls(savings, 2, By::library, 3, 0, 2e-3);
  add_calls(savings, 2, By::handled, 1, 0, 2e-3);
  CHECK(savings.estimate().rough);  // by a part of it
}

/// The network has better and worse times, which last for a stretch of calls. The
/// library's times in the handled calls are drawn, too: they are the truth.
MPI_TEST(the_range_holds_the_truth_as_often_as_it_says) {
  Random random(context.seed);
  int held = 0;
  constexpr int kDraws = 1000;
  for (int draw = 0; draw < kDraws; ++draw) {
    Savings savings;
    const int trials = 2 + static_cast<int>(random.below(10));
    const int calls = 1 + static_cast<int>(random.below(30));
    double truth = 0;
    for (int trial = 0; trial < trials; ++trial) {
      const Seconds mood = 1e-3 * noise(random);
      const auto library = [&] { return 20e-3 + mood + 0.1e-3 * noise(random); };
      for (int i = 0; i < 3; ++i) add_calls(savings, 1, By::library, 1, 0.1, library());
      const Seconds later = 20e-3 + 1e-3 * noise(random);
      for (int i = 0; i < calls; ++i) {
        const Seconds ours = 19e-3 + 0.5e-3 * noise(random);
        add_calls(savings, 1, By::handled, 1, 0.1, ours);
        truth += later + 0.1e-3 * noise(random) - ours;
      }
    }
    const SavedTime found = savings.estimate();
    CHECK_EQ(found.calls, static_cast<std::uint64_t>(trials * calls));
    if (std::abs(found.saved - truth) <= half_range(found)) ++held;
  }
  CHECK(held >= 0.92 * kDraws);
  CHECK(held <= 0.98 * kDraws);
}

bool says(const JobSummary& job, const std::string& what) {
  return describe(job).find(what) != std::string::npos;
}

MPI_TEST(the_summary_says_what_was_saved_and_of_how_many_calls_that_is_known) {
  JobSummary job;
  job.ranks = 4;
  job.calls.native = 5;
  CHECK(!says(job, "estimate"));  // nothing was handled
  job.calls.handled = 40;
  CHECK(says(job, "There is no estimate of the time that its calls saved"));
  CHECK(json(job).find("\"saved_s\":null") != std::string::npos);
  job.elapsed = 10;
  job.moving = 2;
  job.estimated = 30;
  job.saved = 1.5;
  job.saved_range = 0.25;
  CHECK(says(job,
             "30 of these 40 calls saved an estimated 1.5 s a rank (saved: 1.2 s to 1.8 s); "
             "no estimate for the other 10; `latecomer run --compare` measures it."));
  CHECK(json(job).find("\"saved_s\":1.5,\"saved_range_s\":0.25,\"estimated_calls\":30") !=
        std::string::npos);
  job.estimated = 40;
  job.saved_range = -1;
  CHECK(says(job, "There is no estimate of the time that its calls saved"));  // how sure is it?
  CHECK(json(job).find("\"saved_range_s\":null") != std::string::npos);
  job.saved = -0.02;
  job.saved_range = 0.03;
  CHECK(says(job,
             "40 of these 40 calls lost an estimated 20 ms a rank (saved: -50 ms to 10 ms); "
             "`latecomer run"));
  job.elapsed = 0.005;  // the run was shorter than what its calls may have saved
  CHECK(says(job, "There is no estimate of the time that its calls saved"));
}

}  // namespace
}  // namespace latecomer::testing
