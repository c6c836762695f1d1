#include "verify/words.hpp"

#include "base/threads.hpp"

namespace latecomer::verifier {

std::string operation_text(const Program& program, OpIndex index) {
  return "operation " + std::to_string(index) + " (" + to_text(program.operations[index]) + ")";
}

std::string place(const Program& program, OpIndex index) {
  return "rank " + std::to_string(program.me) + ", " + operation_text(program, index);
}

std::string quantity(Count count, const std::string& noun) {
  return std::to_string(count) + ' ' + noun + (count == 1 ? "" : "s");
}

Finding first_finding(Programs programs, Finding (*check)(const Program&)) {
  for (const Program& program : programs) {
    interruption_point();
    if (Finding found = check(program)) return found;
  }
  return {};
}

}  // namespace latecomer::verifier
