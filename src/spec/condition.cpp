#include "spec/condition.hpp"

namespace latecomer {

std::vector<Holding> precondition(const Problem& problem, Rank rank) {
  const Buffer own = problem.in_place ? Buffer::output : Buffer::input;
  switch (problem.collective) {
    case Collective::allreduce:
      return {{{own, 0, problem.count}, 0, rank}};
  }
  return {};
}

std::vector<Holding> postcondition(const Problem& problem, Rank /*rank*/) {
  switch (problem.collective) {
    case Collective::allreduce:
      return {{{Buffer::output, 0, problem.count}, 0, std::nullopt}};
  }
  return {};
}

}  // namespace latecomer
