#include "runtime/settings/configure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "base/reproducible.hpp"
#include "runtime/call/persistent.hpp"
#include "runtime/connection/connect.hpp"
#include "runtime/connection/predecessors.hpp"
#include "runtime/progress/async_progress.hpp"
#include "runtime/settings/defaults.hpp"
#include "runtime/settings/settings.hpp"
#include "transports/mpi/link.hpp"
#include "transports/mpi/user_code.hpp"

namespace latecomer {
namespace {

/// A rank's choice, as far as it can be read.
struct ParsedChoice {
  std::optional<Choice> choice;
  std::string trouble;  // why there is none
};

ParsedChoice parse(std::string_view collective, std::string_view text) try {
  return {parse_choice(parse_collective(collective), text), ""};
} catch (const Error& error) {
  return {std::nullopt, error.what()};
}

std::uint64_t hash_of(const Choice& choice) {
  std::string text(to_string(choice.algorithm->collective));
  text += ':' + std::string(choice.algorithm->name);
  for (const auto& [name, value] : choice.parameters) text += ':' + name + std::to_string(value);
  return fnv1a(text);
}

using Numbers = std::array<std::uint64_t, 7>;

int max_over_ranks(CommState& state, const Numbers& mine, Numbers& largest) {
  const ReleasedCommLock released(state.lock);
  return UserCode::run([&] {
    return PMPI_Allreduce(mine.data(), largest.data(), static_cast<int>(mine.size()), MPI_UINT64_T,
                          MPI_MAX, state.comm);
  });
}

/// Agrees on a text: one reduction shows every rank whether all could read it and all mean the
/// same. A rank that could not read it (no `meaning`) knows the reason, and its caller throws it.
/// The reduction also shows whether all ranks are in the same mode and have the same rules, which
/// decide when they compare the other settings.
void agree(CommState& state, const std::string& what, std::string_view text,
           std::optional<std::uint64_t> meaning) {
  const std::uint64_t hash = meaning.value_or(0);
  const std::uint64_t mode = state.chooser.policy().reproducible ? 1 : 0;
  const auto& all_rules = state.chooser.policy().rules;
  const std::uint64_t rules = all_rules ? all_rules->hash : 0;
  const Numbers mine = {meaning ? 0U : 1U, hash, ~hash, mode, ~mode, rules, ~rules};
  Numbers largest{};
  const int code = max_over_ranks(state, mine, largest);
  if (code != MPI_SUCCESS) throw RefusedByMpi{code};
  state.settings = Settings::unknown;
  if (largest[3] != ~largest[4]) find_different(state, "reproducible");
  if (largest[5] != ~largest[6]) find_different(state, "rules");
  if (!meaning) return;
  if (largest[0] != 0) {
    throw Error(what, std::string(text),
                "a value that all ranks accept; another rank rejected its own");
  }
  if (largest[1] != ~largest[2]) {
    throw Error(what, std::string(text), "the same value on all ranks");
  }
}

void check_ranks(const CommState& state, int ranks) {
  if (ranks == state.ranks) return;
  throw Error("number of arrivals", std::to_string(ranks),
              std::to_string(state.ranks) + ", one for each rank");
}

[[noreturn]] void refuse_arrival(Seconds seconds) {
  throw Error("arrival", format_number(seconds), "a number of seconds from -1e18 to 1e18");
}

/// True if latecomer executes such calls in any case.
bool handles(const Choice& choice) {
  return choice.algorithm->kind != Kind::native && !is_automatic(choice);
}

/// Forgets all that was learned about calls.
void forget_calls(CommState& state) {
  state.chooser.forget();
  state.due.reviews.clear();
  state.shortcuts.clear();
}

/// Makes the resources while all ranks are together; in the first call the wait for the last rank
/// would not be reported.
void make_resources_together(CommState& state) {
  take_over_resources(state);
  const Outcome made = make_resources(state);
  if (made.code != MPI_SUCCESS) throw std::runtime_error("communicator: " + made.why);
}

/// Starts or stops watching arrivals: they are watched if latecomer executes calls in any case. An
/// automatic choice watches them once a class is active.
void watch_if_needed(CommState& state, bool anew) {
  const Policy& policy = state.chooser.policy();
  const auto any = [&](auto&& is) {
    return std::any_of(policy.choices.begin(), policy.choices.end(),
                       [&](const Choice& each) { return is(each); });
  };
  const bool automatic = any(is_automatic);
  const bool watched = state.chooser.watch() != nullptr;
  if (!policy.online && !automatic) return state.chooser.watch_no_more();
  const bool needed = policy.online && any(handles);
  if (watched ? !anew : !needed) return;
  make_resources_together(state);
  const Outcome outcome = watch_arrivals(state);
  if (outcome.code != MPI_SUCCESS) throw std::runtime_error("clocks: " + outcome.why);
}

/// Changes the policy; if that fails, as where MPI has no further communicator, it is as before.
template <class Change>
void change_policy(CommState& state, Change&& change) {
  const Policy before = state.chooser.policy();
  try {
    change(state.chooser.policy());
  } catch (...) {
    state.chooser.policy() = before;
    forget_calls(state);
    throw;
  }
}

/// Makes progress: any probe lets MPI move messages under way.
void look_once(CommState& state) {
  if (state.async_progress) {
    state.async_progress->progress_locked();
  } else if (state.resources) {
    int found = 0;
    const Link& link = state.resources->comm->link();
    PMPI_Iprobe(MPI_ANY_SOURCE, link.tag(Tags::kFailures), link.comm(), &found, MPI_STATUS_IGNORE);
  }
}

void pass_on(CommState& state) {
  const ComputePhase& phase = state.phase;
  if (state.async_progress && phase.fraction() > 0) {
    state.async_progress->report_expected_arrival(state.resources->clocks.common(phase.arrival()),
                                                  phase.fraction());
  }
  look_once(state);
}

}  // namespace

void set_algorithm(CommState& state, std::string_view collective, std::string_view text) {
  ParsedChoice parsed = parse(collective, text);
  agree(state, "algorithm", std::string(collective) + ':' + std::string(text),
        parsed.choice ? std::optional(hash_of(*parsed.choice)) : std::nullopt);
  if (!parsed.choice) throw std::runtime_error(parsed.trouble);
  change_policy(state, [&](Policy& policy) {
    Choice& choice = policy.choice(parsed.choice->algorithm->collective);
    choice = std::move(*parsed.choice);
    forget_calls(state);
    if (state.ranks == 1 || state.settings == Settings::different) return;
    watch_if_needed(state, false);
    if (handles(choice) || policy.reproducible) make_resources_together(state);
  });
}

void set_arrivals(CommState& state, const Seconds* arrivals, int ranks) {
  refuse_while_started(state, "arrivals");
  Policy& policy = state.chooser.policy();
  // A rank may set again, alone, the times that all have.
  const auto give = [&](std::vector<Seconds> given) {
    if (given == policy.given) return;
    policy.given = std::move(given);
    state.chooser.expect_anew();
  };
  if (arrivals == nullptr) return give({});
  check_ranks(state, ranks);
  if (policy.online) {
    throw std::runtime_error(
        "arrivals cannot be set while the estimate is \"online\": set the estimate to \"given\"");
  }
  for (int i = 0; i < ranks; ++i) {
    if (!(std::abs(arrivals[i]) <= 1e18)) refuse_arrival(arrivals[i]);
  }
  give({arrivals, arrivals + ranks});
}

void set_estimate(CommState& state, std::string_view text) {
  const bool known = text == "given" || text == "online";
  agree(state, "estimate", text, known ? std::optional(fnv1a(text)) : std::nullopt);
  if (!known) throw Error("estimate", std::string(text), "given or online");
  change_policy(state, [&](Policy& policy) {
    policy.online = text == "online" && state.ranks > 1;
    policy.given.clear();
    forget_calls(state);
    if (state.settings != Settings::different) watch_if_needed(state, true);
  });
}

Pattern pattern_of(const CommState& state, int ranks) {
  if (!state.chooser.policy().online) {
    throw Error("estimate", "given", "\"online\": only then arrivals are observed");
  }
  check_ranks(state, ranks);
  Pattern pattern;
  if (const Watch* const watch = state.chooser.watch()) {
    pattern = {watch->last(), watch->expected_again().arrivals};
  }
  pattern.last.resize(static_cast<std::size_t>(ranks));
  pattern.expected.resize(static_cast<std::size_t>(ranks));
  return pattern;
}

void set_reproducible(CommState& state, int on) {
  const bool known = on == 0 || on == 1;
  const std::string text = std::to_string(on);
  agree(state, "reproducible", text, known ? std::optional(fnv1a(text)) : std::nullopt);
  if (!known) throw Error("reproducible", text, "0 or 1");
  state.chooser.policy().reproducible = on == 1;
  state.settings = Settings::unknown;
  forget_calls(state);
}

void set_network(CommState& state, std::string_view text) {
  refuse_while_started(state, "network");
  const Network network = text.empty() ? default_network() : read_network(text);
  state.chooser.policy().network = with_handshake(network);
}

void set_long_wait(CommState& state, Seconds seconds) {
  if (!(seconds > 0)) throw Error("long wait", format_number(seconds), "seconds above 0");
  state.tuning.long_wait = seconds;
}

void compute_begin(CommState& state) {
  state.phase.begin(monotonic_clock());
  look_once(state);
}

void compute_progress(CommState& state, double fraction) {
  state.phase.progress(monotonic_clock(), fraction);
  pass_on(state);
}

void compute_end(CommState& state) {
  state.phase.end(monotonic_clock());
  pass_on(state);
}

}  // namespace latecomer
