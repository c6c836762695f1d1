// The small messages between ranks when something seems wrong: what is a disagreement, and what is
// only a rank that is late.
#include "runtime/connection/control.hpp"

#include <sched.h>

#include "communicator.hpp"
#include "runner.hpp"

namespace latecomer::testing {
namespace {

using Part = Control::Part;
using Told = std::optional<std::string>;

/// Rank 0 asks rank 1 where it is, which has received the question when it goes on.
template <class Asking, class Asked>
void question(const Context& context, Asking&& asking, Asked&& asked) {
  if (context.ranks == 1) return;
  const Communicator comm;
  Control control(comm);
  if (context.rank == 0) {
    asking(control);
    control.ask(1);
  } else if (context.rank == 1) {
    for (int found = 0; found == 0; sched_yield()) {
      MPI_Iprobe(0, Tags::kControl, comm, &found, MPI_STATUS_IGNORE);
    }
    asked(control);
  }
  MPI_Barrier(comm);
}

void check_says(const Told& told, const std::string& text) {
  CHECK_TEXT(told && told->find(text) != std::string::npos, told.value_or("nothing"));
}

MPI_TEST(a_question_about_a_call_to_come_waits_for_it) {
  question(
      context,
      [](Control& control) {
        control.come(3, 2);
        control.enter(Part::plan, 77);
      },
      [](Control& control) {
        control.come(1, 1);
        control.enter(Part::plan, 78);
        CHECK(!control.read());
        CHECK(!control.leave(2));
        control.come(3, 2);
        CHECK(!control.read());
        control.enter(Part::plan, 78);
        check_says(control.read(), "rank 0 follows another plan than this rank in call 2");
      });
}

/// One that has ended its part of the plan tells of its arrival, by a plan of its own.
MPI_TEST(a_rank_that_tells_disagrees_with_nobody) {
  const auto tell = [](Control& control) {
    control.come(1, 1);
    control.enter(Part::plan, 77);
    control.enter(Part::telling, 5);
  };
  question(context, tell, [](Control& control) {
    control.come(1, 1);
    control.enter(Part::plan, 77);
    CHECK(!control.read());
    control.enter(Part::telling, 5);
    CHECK(!control.read());
  });
  question(
      context,
      [](Control& control) {
        control.come(1, 1);
        control.enter(Part::plan, 77);
      },
      [&](Control& control) {
        tell(control);
        CHECK(!control.read());
      });
}

MPI_TEST(a_call_that_was_left_to_the_library_is_named) {
  for (const bool planned : {false, true}) {
    const auto wait = [&](Control& control) {
      control.come(4, 2);
      if (planned) control.enter(Part::plan, 77);
    };
    const std::string named = "rank 0 waits in call 2, which this rank left to the MPI library";
    question(context, wait, [&](Control& control) { check_says(control.leave(4), named); });
    question(context, wait, [&](Control& control) {
      (void)control.leave(3);
      control.come(4, 2);
      CHECK(!control.read());
    });
  }
}

MPI_TEST(an_alarm_is_kept_for_the_next_call_of_latecomers) {
  if (context.ranks == 1) return;
  const Communicator comm;
  Control control(comm);
  control.come(1, 1);
  if (context.rank == 0) {
    control.alarm();
  } else {
    for (int found = 0; found == 0; sched_yield()) {
      MPI_Iprobe(0, Tags::kControl, comm, &found, MPI_STATUS_IGNORE);
    }
    CHECK(!control.leave(2));
    check_says(control.read(), "rank 0 failed in call 1");
  }
  MPI_Barrier(comm);
}

}  // namespace
}  // namespace latecomer::testing
