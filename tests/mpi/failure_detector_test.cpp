// The small messages between ranks when something seems wrong: they tell a disagreement from a rank
// that is only late.
#include "runtime/connection/failure_detector.hpp"

#include <sched.h>

#include "communicator.hpp"
#include "runner.hpp"

namespace latecomer::testing {
namespace {

using Part = FailureDetector::Part;
using Text = std::optional<std::string>;

/// Waits for the next message from the rank.
void await(int from, MPI_Comm comm) {
  for (int found = 0; found == 0; sched_yield()) {
    MPI_Iprobe(from, Tags::kFailures, comm, &found, MPI_STATUS_IGNORE);
  }
}

/// Rank 0 asks rank 1 where it is, which has received the question when it goes on.
template <class Asking, class Asked>
void question(const Context& context, Asking&& asking, Asked&& asked) {
  if (context.ranks == 1) return;
  const Communicator comm;
  FailureDetector failures(comm);
  if (context.rank == 0) {
    asking(failures);
    failures.ask(1);
  } else if (context.rank == 1) {
    await(0, comm);
    asked(failures);
  }
  MPI_Barrier(comm);
}

void check_says(const Text& text, const std::string& expected) {
  CHECK_TEXT(text && text->find(expected) != std::string::npos, text.value_or("nothing"));
}

MPI_TEST(a_question_about_a_call_to_come_waits_for_it) {
  question(
      context,
      [](FailureDetector& failures) {
        failures.enter_call(3, 2);
        failures.enter_part(Part::plan, 77);
      },
      [](FailureDetector& failures) {
        failures.enter_call(1, 1);
        failures.enter_part(Part::plan, 78);
        CHECK(!failures.check());
        CHECK(!failures.leave_to_library(2));
        failures.enter_call(3, 2);
        CHECK(!failures.check());
        failures.enter_part(Part::plan, 78);
        check_says(failures.check(), "rank 0 follows another plan than this rank in call 2");
      });
}

/// A rank that has ended its part of the plan is in the arrival exchange, which has a plan of its
/// own.
MPI_TEST(a_rank_in_the_arrival_exchange_disagrees_with_none) {
  const auto exchange = [](FailureDetector& failures) {
    failures.enter_call(1, 1);
    failures.enter_part(Part::plan, 77);
    failures.enter_part(Part::exchange, 5);
  };
  question(context, exchange, [](FailureDetector& failures) {
    failures.enter_call(1, 1);
    failures.enter_part(Part::plan, 77);
    CHECK(!failures.check());
    failures.enter_part(Part::exchange, 5);
    CHECK(!failures.check());
  });
  question(
      context,
      [](FailureDetector& failures) {
        failures.enter_call(1, 1);
        failures.enter_part(Part::plan, 77);
      },
      [&](FailureDetector& failures) {
        exchange(failures);
        CHECK(!failures.check());
      });
}

MPI_TEST(a_call_that_was_left_to_the_library_is_named) {
  for (const bool planned : {false, true}) {
    const auto wait = [&](FailureDetector& failures) {
      failures.enter_call(4, 2);
      if (planned) failures.enter_part(Part::plan, 77);
    };
    const std::string named = "rank 0 waits in call 2, which this rank left to the MPI library";
    question(context, wait,
             [&](FailureDetector& failures) { check_says(failures.leave_to_library(4), named); });
    question(context, wait, [&](FailureDetector& failures) {
      (void)failures.leave_to_library(3);
      failures.enter_call(4, 2);
      CHECK(!failures.check());
    });
  }
}

MPI_TEST(an_announcement_that_rank_0_does_not_make_is_named) {
  for (const bool announced : {false, true}) {
    question(
        context,
        [](FailureDetector& failures) {
          failures.enter_call(3, 2);
          failures.enter_part(Part::announcement, 0);
        },
        [&](FailureDetector& failures) {
          failures.enter_call(3, 2);
          if (announced) failures.enter_part(Part::announcement, 0);
          CHECK(!failures.check());
          failures.enter_part(Part::plan, 77);
          const Text found = failures.check();
          if (announced) {
            CHECK(!found);
            return;
          }
          check_says(found, "rank 0 waits in call 2 for rank 0 to announce a plan, and this rank");
        });
  }
}

MPI_TEST(a_rank_that_announced_its_failure_gets_no_notice) {
  if (context.ranks == 1) return;
  const Communicator comm;
  FailureDetector failures(comm);
  failures.enter_call(1, 1);
  failures.enter_part(Part::plan, 70 + static_cast<std::uint64_t>(context.rank));
  if (context.rank == 0) {
    failures.announce_failure();
    await(1, comm);
    check_says(failures.check(), "rank 1 follows another plan");  // and no failure before
  } else if (context.rank == 1) {
    await(0, comm);
    failures.announce_failure();
    failures.ask(0);
  } else {
    await(0, comm);
    await(1, comm);
    check_says(failures.check(), "failed in call 1");
  }
  MPI_Barrier(comm);
}

MPI_TEST(a_failure_notice_is_kept_for_the_next_handled_call) {
  if (context.ranks == 1) return;
  const Communicator comm;
  FailureDetector failures(comm);
  failures.enter_call(1, 1);
  if (context.rank == 0) {
    failures.announce_failure();
  } else {
    await(0, comm);
    CHECK(!failures.leave_to_library(2));
    check_says(failures.check(), "rank 0 failed in call 1");
  }
  MPI_Barrier(comm);
}

}  // namespace
}  // namespace latecomer::testing
