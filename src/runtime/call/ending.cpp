#include "runtime/call/ending.hpp"

#include "base/error.hpp"
#include "runtime/report/log.hpp"

namespace latecomer {

void give_up(CommState& state, const std::string& why) {
  if (!state.broken.empty()) return;  // an exception may have become a failure already
  if (!if_memory([&] { state.broken = why; })) state.broken = "no memory";
  if (!state.resources) return;
  state.resources->failures.announce_failure();
  state.resources->abandon();
}

Ending fail(CommState& state, const Outcome& outcome) {
  give_up(state, outcome.why);
  (void)if_memory([&] {
    std::string text = describe(state.comm) + ": " + outcome.why;
    if (state.resources) text += state.resources->hosts.whereabouts(text);
    log_line(text);
    set_last_error(text);
  });
  return {.code = outcome.code, .counter = &latecomer_stats::failed, .raise = true};
}

Ending refuse(const CommState& state) {
  set_last_error(describe(state.comm) + " failed earlier: " + state.broken);
  return {.code = disagreement_class(), .counter = &latecomer_stats::failed, .raise = true};
}

}  // namespace latecomer
