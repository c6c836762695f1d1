#include "simulate/checked.hpp"

#include <algorithm>

#include "base/random.hpp"

namespace latecomer {
namespace {

Element add(Element left, Element right) { return left + right; }

/// Maps modulo 2^32, a in the upper half and b in the lower: first left, then right.
Element compose(Element left, Element right) {
  const auto half = [](Element bits) { return static_cast<std::uint32_t>(bits); };
  const std::uint32_t a = half(right >> 32) * half(left >> 32);
  const std::uint32_t b = half(right >> 32) * half(left) + half(right);
  return Element{a} << 32 | b;
}

Elements random_elements(Count count, Random& random) {
  Elements all(static_cast<std::size_t>(count));
  // With an odd factor no contribution is lost in a product.
  std::generate(all.begin(), all.end(), [&] { return random.next() | Element{1} << 32; });
  return all;
}

}  // namespace

CheckedMemory::CheckedMemory(std::span<const Program> programs, std::uint64_t seed) {
  Random random(seed);
  for (const Program& program : programs) {
    const auto combine = program.commutative ? add : compose;
    const Elements own = random_elements(program.output_count, random);
    memories_.emplace_back(program, own, combine);
    if (expected_.empty()) {
      expected_ = own;
    } else {
      std::transform(expected_.begin(), expected_.end(), own.begin(), expected_.begin(), combine);
    }
  }
}

Count CheckedMemory::wrong() const {
  Count wrong = 0;
  for (const Memory& memory : memories_) {
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      if (memory.output()[i] != expected_[i]) ++wrong;
    }
  }
  return wrong;
}

}  // namespace latecomer
