#include "runtime/configure.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/parse.hpp"
#include "runtime/clocks/clock_sync.hpp"
#include "runtime/default_network.hpp"
#include "runtime/persistent.hpp"

namespace latecomer {
namespace {

/// What a rank brings to the agreement.
struct Wish {
  std::optional<Choice> choice;
  std::string trouble;  // why there is none
};

Wish read_wish(std::string_view collective, std::string_view text) try {
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

/// One reduction tells every rank whether all could read their text and all mean the same. A rank
/// that could not (no `meaning`) knows better why: that is its caller's to throw.
void agree(MPI_Comm comm, const std::string& what, std::string_view text,
           std::optional<std::uint64_t> meaning) {
  const std::uint64_t hash = meaning.value_or(0);
  const std::uint64_t mine[] = {meaning ? 0U : 1U, hash, ~hash};
  std::uint64_t largest[3] = {};
  PMPI_Allreduce(mine, largest, 3, MPI_UINT64_T, MPI_MAX, comm);
  if (!meaning) return;
  if (largest[0] != 0) {
    throw Error(what, std::string(text), "one that every rank can use, and one cannot");
  }
  if (largest[1] != ~largest[2]) {
    throw Error(what, std::string(text), "one that means the same on every rank");
  }
}

void check_ranks(const CommState& state, int ranks) {
  if (ranks == state.ranks) return;
  throw Error("number of arrivals", std::to_string(ranks),
              std::to_string(state.ranks) + ", one for each rank");
}

[[noreturn]] void refuse_arrival(Seconds seconds) {
  throw Error("arrival", format_number(seconds), "a finite number of seconds");
}

/// Whether it is one, or may choose one.
bool may_be_protocol(const Algorithm& row) {
  if (row.name != "auto") return row.kind == Kind::protocol;
  const auto rows = registry(row.collective);
  return std::any_of(rows.begin(), rows.end(),
                     [](const Algorithm& other) { return other.kind == Kind::protocol; });
}

/// What calls took says nothing any more.
void forget_choices(CommState& state) {
  state.selector = {};
  state.announcing = Selector(false);
  state.chosen = {};
}

/// Here all ranks are together; in the first call they would wait for the last one unreported.
void link_up(CommState& state) {
  if (state.ensure_link() == MPI_SUCCESS) return;
  throw std::runtime_error("communicator: MPI could not make another one beside it");
}

/// Arrivals are watched where they are to be expected, and where what calls took decides.
void watch_if_needed(CommState& state, bool anew) {
  const bool needed = state.ranks > 1 && (state.online || state.automatic());
  if (needed && (anew || !state.watch)) {
    link_up(state);
    if (!state.link->clocks.ready()) {
      const Outcome outcome = set_up_clocks(*state.link, {state.comm, state.tuning.long_wait});
      if (outcome.code != MPI_SUCCESS) throw std::runtime_error("clocks: " + outcome.why);
    }
    state.watch = std::make_unique<Watch>(state.rank, state.ranks);
  }
  if (!needed) state.watch.reset();
  if (state.knowledge.telemetry != needed) state.plans.outdate();
  state.knowledge.telemetry = needed;
}

}  // namespace

void set_algorithm(CommState& state, std::string_view collective, std::string_view text) {
  carry_out_started(state);
  Wish wish = read_wish(collective, text);
  agree(state.comm, "algorithm", text,
        wish.choice ? std::optional(hash_of(*wish.choice)) : std::nullopt);
  if (!wish.choice) throw std::runtime_error(wish.trouble);
  Choice& choice = state.choice(wish.choice->algorithm->collective);
  choice = std::move(*wish.choice);
  state.protocols = state.protocols || may_be_protocol(*choice.algorithm);
  state.settings = Settings::unknown;
  forget_choices(state);
  watch_if_needed(state, false);
  if (choice.algorithm->kind != Kind::native && state.ranks > 1) link_up(state);
}

void set_arrivals(CommState& state, const Seconds* arrivals, int ranks) {
  refuse_while_started(state, "arrivals");
  if (arrivals == nullptr) return state.given.clear();
  check_ranks(state, ranks);
  if (state.online) {
    throw Error("arrivals", "given by the program", "none while the estimate is \"online\"");
  }
  for (int i = 0; i < ranks; ++i) {
    if (!std::isfinite(arrivals[i])) refuse_arrival(arrivals[i]);
  }
  state.given.assign(arrivals, arrivals + ranks);
}

void set_estimate(CommState& state, std::string_view text) {
  carry_out_started(state);
  const bool known = text == "given" || text == "online";
  agree(state.comm, "estimate", text, known ? std::optional(fnv1a(text)) : std::nullopt);
  if (!known) throw Error("estimate", std::string(text), "given or online");
  state.online = text == "online" && state.ranks > 1;
  state.given.clear();
  watch_if_needed(state, true);
  state.settings = Settings::unknown;
}

Pattern pattern_of(const CommState& state, int ranks) {
  if (!state.online) throw Error("estimate", "given", "\"online\", which knows a pattern");
  check_ranks(state, ranks);
  Pattern pattern{state.watch->last(), state.watch->expected_again().arrivals};
  pattern.last.resize(static_cast<std::size_t>(ranks));
  pattern.expected.resize(static_cast<std::size_t>(ranks));
  return pattern;
}

void set_reproducible(CommState& state, int on) {
  carry_out_started(state);
  const bool known = on == 0 || on == 1;
  const std::string text = std::to_string(on);
  agree(state.comm, "reproducible", text, known ? std::optional(fnv1a(text)) : std::nullopt);
  if (!known) throw Error("reproducible", text, "0 or 1");
  state.reproducible = on == 1;
  forget_choices(state);
  state.settings = Settings::unknown;
  state.plans.outdate();
}

void set_network(CommState& state, std::string_view text) {
  refuse_while_started(state, "network");
  const Network network = text.empty() ? default_network() : read_network(text);
  state.knowledge.network = with_handshake(network);
  forget_choices(state);
  state.plans.outdate();
}

void set_long_wait(CommState& state, Seconds seconds) {
  if (!(seconds > 0)) throw Error("long wait", format_number(seconds), "seconds above 0");
  state.tuning.long_wait = seconds;
}

}  // namespace latecomer
