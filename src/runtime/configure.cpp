#include "runtime/configure.hpp"

#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/parse.hpp"
#include "runtime/default_network.hpp"

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

/// One reduction tells every rank whether all could read their text and all mean the same.
void agree(MPI_Comm comm, const Wish& wish, std::string_view text) {
  const std::uint64_t hash = wish.choice ? hash_of(*wish.choice) : 0;
  const std::uint64_t mine[] = {wish.choice ? 0U : 1U, hash, ~hash};
  std::uint64_t largest[3] = {};
  PMPI_Allreduce(mine, largest, 3, MPI_UINT64_T, MPI_MAX, comm);
  if (largest[0] != 0) {
    throw Error("algorithm", std::string(text), "a text that every rank can read, and one cannot");
  }
  if (largest[1] != ~largest[2]) {
    throw Error("algorithm", std::string(text), "the same algorithm and parameters on every rank");
  }
}

[[noreturn]] void refuse_arrival(Seconds seconds) {
  throw Error("arrival", format_number(seconds), "a finite number of seconds");
}

/// Plans that do not depend on the arrivals stay as they are.
void know(CommState& state, std::vector<Seconds> arrivals) {
  state.knowledge.arrivals = std::move(arrivals);
  if (state.choice.algorithm->arrival_aware) state.plans.outdate();
}

}  // namespace

void set_algorithm(CommState& state, std::string_view collective, std::string_view text) {
  Wish wish = read_wish(collective, text);
  try {
    agree(state.comm, wish, text);
  } catch (const Error&) {
    if (wish.choice) throw;
  }
  if (!wish.choice) throw std::runtime_error(wish.trouble);
  state.choice = std::move(*wish.choice);
  state.plans.outdate();
  // Here all ranks are together; in the first call they would wait for the last one unreported.
  const bool used = state.choice.algorithm->kind != Kind::native && state.ranks > 1;
  if (used && state.ensure_link() != MPI_SUCCESS) {
    throw std::runtime_error("communicator: MPI could not make another one beside it");
  }
}

void set_arrivals(CommState& state, const Seconds* arrivals, int ranks) {
  if (arrivals == nullptr) return know(state, {});
  if (ranks != state.ranks) {
    throw Error("number of arrivals", std::to_string(ranks),
                std::to_string(state.ranks) + ", one for each rank");
  }
  for (int i = 0; i < ranks; ++i) {
    if (!std::isfinite(arrivals[i])) refuse_arrival(arrivals[i]);
  }
  know(state, {arrivals, arrivals + ranks});
}

void set_network(CommState& state, std::string_view text) {
  const Network network = text.empty() ? default_network() : read_network(text);
  state.knowledge.network = with_handshake(network);
  state.plans.outdate();
}

void set_long_wait(CommState& state, Seconds seconds) {
  if (!(seconds > 0)) throw Error("long wait", format_number(seconds), "seconds above 0");
  state.tuning.long_wait = seconds;
}

}  // namespace latecomer
