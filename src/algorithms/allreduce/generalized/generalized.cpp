// Generalised all-reduce: the ranks are an abelian group, a product of cyclic ones, and in each
// step all of them send partial results by the same distance. P and the number of steps are free:
// few steps send and combine more, many steps send short messages. The ring, recursive halving and
// recursive doubling are special cases.
//
// Cost: s alpha for s steps, from ceil(log2 P) to 2(P-1). From 2 ceil(log2 P) steps on, 2(P-1)/P m
// beta + (P-1)/P m gamma besides; with fewer steps partial results are replicated. Where 2^r
// divides P, leaving out r steps costs little: ranks scatter over P/2^r and double among 2^r.
// Otherwise the last steps of the distribution are left out, and each rank keeps N_(L-r) results
// (N_0 = P, N_(i+1) = ceil(N_i / 2), L = ceil(log2 P)), which is less than the 2^r of the paper.
// Use it for balanced arrivals, any P, short and middle vectors.
// Source: Kolmakov and Zhang: A generalization of the allreduce operation, arXiv:2004.09362,
// sections 6 to 9; the number of kept results, the order of the levels and more than 2 log P steps
// are ours.
#include "algorithms/allreduce/generalized/designs.hpp"
#include "algorithms/allreduce/generalized/levels.hpp"
#include "algorithms/row.hpp"
#include "base/error.hpp"
#include "base/parse.hpp"

namespace latecomer::allreduce {
namespace {

enum class Group : std::uint8_t { best, cyclic, prime };
enum class Rounding : std::uint8_t { same, any };

std::optional<Count> asked(const Plan& plan, std::string_view name) {
  const auto found = plan.parameters.find(name);
  return found == plan.parameters.end() ? std::nullopt : std::optional(found->second);
}

Factors checked(const Factors& factors, Rank ranks) {
  Count product = 1;
  for (const Count factor : factors) product *= factor;
  if (product == ranks) return factors;
  throw Error("group of generalized", factors_text(factors),
              "factors whose product is the " + std::to_string(ranks) + " ranks");
}

std::vector<Factors> groups(const Plan& plan) {
  const Rank ranks = plan.problem.ranks;
  const Count group = asked(plan, "group").value_or(static_cast<Count>(Group::best));
  if (group >= kFirstFactors) return {checked(decode_factors(group), ranks)};
  switch (static_cast<Group>(group)) {
    case Group::cyclic:
      return {{ranks}};
    case Group::prime:
      return {prime_factors(ranks)};
    case Group::best:
      break;
  }
  return useful_groups(ranks);
}

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const bool exact = plan.problem.exact;
  const Count rounding =
      asked(plan, "rounding").value_or(static_cast<Count>(exact ? Rounding::any : Rounding::same));
  plan.parameters["rounding"] = rounding;
  plan.problem.exact = rounding == static_cast<Count>(Rounding::any);
  Design design;
  if (plan.problem.ranks > 1) {
    design =
        cheapest({groups(plan), asked(plan, "steps"), asked(plan, "piece"), plan.problem.exact},
                 plan.problem, knowledge.network);
    Factors group;
    for (const Level& level : design.levels) group.push_back(level.order);
    plan.parameters["group"] = encode_factors(group);
  }
  plan.parameters["steps"] = steps_of(design);
  plan.parameters["piece"] = design.reduce_piece;
  plan.table = to_table(design);
}

}  // namespace

LATECOMER_ROW(allreduce, generalized) {
  return {.commutative_only = true,
          .scratch_messages = 3,
          .parameters =
              {{"group",
                "of the ranks: cyclic, prime (a cyclic factor for each prime factor of P), or"
                " factors such as 12x2x2; default best",
                0,
                {"best", "cyclic", "prime"},
                true,
                TakenOver::as_it_is},
               {"steps",
                "in all, the nearest possible from log2 P to 2(P-1); default: by the cost",
                0,
                {},
                false,
                TakenOver::as_it_is},
               {"piece",
                "most elements of a message, 0: no limit; default: by the cost; never below a"
                " 65536th of the vector",
                0,
                {}},
               {"rounding",
                "any: ranks may combine in different orders, and get different bits; default same"
                " unless the operator is exact, as bitwise ones are",
                0,
                {"same", "any"},
                false,
                TakenOver::no,
                true}},
          .cost_formula =
              "s alpha + 2(P-1)/P m beta + (P-1)/P m gamma for s >= 2 ceil(log2 P);"
              " with fewer steps more beta and gamma",
          .source = "Kolmakov and Zhang 2020, extended",
          .fill_plan = fill_plan,
          .build = build_levels,
          .check = check_levels,
          .cost = level_cost,
          .informs_all = levels_inform};
}

}  // namespace latecomer::allreduce
