#include "commands/simgrid/check.hpp"

#include "base/random.hpp"

namespace latecomer {
namespace {

Element add(Element left, Element right) { return left + right; }

/// a and b, 32 bits each, modulo 2^32: associative, not commutative.
Element compose(Element left, Element right) {
  const auto high = [](Element x) { return static_cast<std::uint32_t>(x >> 32); };
  const auto low = [](Element x) { return static_cast<std::uint32_t>(x); };
  const std::uint32_t a = high(left) * high(right);
  const std::uint32_t b = high(left) * low(right) + low(left);
  return Element{a} << 32 | b;
}

}  // namespace

ResultCheck::ResultCheck(std::span<const Program> programs, std::uint64_t seed)
    : operator_(programs.front().commutative ? add : compose) {
  Random random(seed);
  for (const Program& program : programs) {
    // Odd factors: their product never becomes 0, which would hide what follows.
    Elements input(static_cast<std::size_t>(program.output_count));
    for (Element& element : input) element = random.next() | Element{1} << 32;
    memory_.emplace_back(program, input, operator_);
    inputs_.push_back(std::move(input));
  }
}

Elements ResultCheck::expected() const {
  Elements result = inputs_.front();
  for (std::size_t rank = 1; rank < inputs_.size(); ++rank) {
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = operator_(result[i], inputs_[rank][i]);
    }
  }
  return result;
}

Count ResultCheck::wrong() const {
  const Elements right = expected();
  Count wrong = 0;
  for (const Memory& memory : memory_) {
    for (std::size_t i = 0; i < right.size(); ++i) wrong += memory.output()[i] != right[i] ? 1 : 0;
  }
  return wrong;
}

}  // namespace latecomer
