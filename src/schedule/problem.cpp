#include "schedule/problem.hpp"

#include <limits>
#include <string>

#include "base/error.hpp"

namespace latecomer {

std::string_view to_string(Collective collective) {
  switch (collective) {
    case Collective::allreduce:
      return "allreduce";
  }
  return "unknown";
}

Collective parse_collective(std::string_view name) {
  if (name == "allreduce") return Collective::allreduce;
  throw Error("collective", std::string(name), "allreduce");
}

void check(const Problem& problem) {
  if (problem.ranks < 1) {
    throw Error("ranks", std::to_string(problem.ranks), "a whole number from 1 up");
  }
  if (problem.count < 0) {
    throw Error("count", std::to_string(problem.count), "a whole number from 0 up");
  }
  if (problem.element_bytes < 1) {
    throw Error("element bytes", std::to_string(problem.element_bytes), "a number from 1 up");
  }
  if (problem.count > std::numeric_limits<Count>::max() / problem.element_bytes / 4) {
    throw Error("count", std::to_string(problem.count), "a vector below 2^61 bytes");
  }
  if (problem.root < 0 || problem.root >= problem.ranks) {
    throw Error("root", std::to_string(problem.root), "a rank of the communicator");
  }
}

}  // namespace latecomer
