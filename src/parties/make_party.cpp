#include "parties/make_party.hpp"

#include "algorithms/registry.hpp"
#include "base/interruption.hpp"
#include "engine/program_party.hpp"

namespace latecomer {

std::unique_ptr<Party> make_party(const Plan& plan, Rank me, Count eager) {
  interruption_point();
  const Algorithm& row = find_algorithm(plan.problem.collective, plan.algorithm);
  if (row.kind != Kind::protocol) {
    return std::make_unique<ProgramParty>(build_program(plan, me), eager);
  }
  check_rank(plan, me);
  return row.party(plan, me);
}

Parties make_parties(const Plan& plan, const Network& network) {
  const Count eager = network.eager_elements(plan.problem.element_bytes);
  Parties parties;
  for (Rank rank = 0; rank < plan.problem.ranks; ++rank) {
    parties.push_back(make_party(plan, rank, eager));
  }
  return parties;
}

}  // namespace latecomer
