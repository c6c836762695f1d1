// Closed forms of rows that only move data, for ranks that arrive together.
#pragma once

#include "algorithms/moving/replay.hpp"

namespace latecomer::moving {

/// The root takes one message after another.
[[nodiscard]] Seconds one_by_one(const Moves& moves, const Plan& plan, const Network& network);
/// The root sends one message after another; where these wait for their receivers, all ask at once,
/// and there is one handshake.
[[nodiscard]] Seconds asked_at_once(const Moves& moves, const Plan& plan, const Network& network);

template <Moves (*moves)(const Plan& plan, Rank of)>
[[nodiscard]] Seconds one_by_one_time(const Plan& plan, const Network& network) {
  return one_by_one(moves(plan, kEverybody), plan, network);
}
template <Moves (*moves)(const Plan& plan, Rank of)>
[[nodiscard]] Seconds asked_at_once_time(const Plan& plan, const Network& network) {
  return asked_at_once(moves(plan, kEverybody), plan, network);
}

/// Rounds in which ranks hand on as much as they hold, or as is missing.
[[nodiscard]] Seconds bruck_time(const Plan& plan, const Network& network);

/// Half as many rounds as ranks: a part, and then two in each.
[[nodiscard]] Seconds neighbor_exchange_time(const Plan& plan, const Network& network);

}  // namespace latecomer::moving
