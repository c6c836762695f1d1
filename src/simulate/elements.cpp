#include "simulate/elements.hpp"

#include <algorithm>
#include <map>

#include "base/reproducible.hpp"
#include "base/threads.hpp"
#include "spec/condition.hpp"

namespace latecomer {
namespace {

constexpr Element kUnset = 0xdeadbeefdeadbeefULL;

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

Memory::Memory(const RankContext& context, Operator combine) : operator_(std::move(combine)) {
  const auto size = [](Count count) { return static_cast<std::size_t>(count); };
  buffers_[0].assign(size(context.input_count), kUnset);
  buffers_[1].assign(size(context.output_count), kUnset);
  buffers_[2].assign(size(context.scratch_count), kUnset);
  node_ = std::make_shared<Elements>(size(context.node_count), kUnset);
}

Elements Memory::read(const Slice& slice) const {
  const auto begin = buffer(slice.buffer).begin() + slice.begin;
  return {begin, begin + slice.count};
}

void Memory::write(const Slice& slice, std::span<const Element> data) {
  Elements& target =
      slice.buffer == Buffer::node ? *node_ : buffers_[static_cast<int>(slice.buffer)];
  std::copy(data.begin(), data.end(), target.begin() + slice.begin);
}

void Memory::combine(const Slice& left, const Slice& right, Into into) {
  const Slice& in = into == Into::right ? left : right;
  const Slice& inout = into == Into::right ? right : left;
  const Elements a = read(in);
  const Elements b = read(inout);
  Elements result(a.size());
  std::transform(a.begin(), a.end(), b.begin(), result.begin(), operator_);
  write(inout, result);
}

CheckedMemory::CheckedMemory(const Problem& problem, const Executors& executors, std::uint64_t seed)
    : problem_(problem), operator_(problem.commutative ? add : compose) {
  Random random(seed);
  std::map<Rank, std::size_t> mates;  // of each node the first rank
  for (const auto& executor : executors) {
    interruption_point();
    const RankContext& context = executor->context();
    inputs_.push_back(random_elements(problem.before(context.me).count, random));
    memories_.emplace_back(context, operator_);
    if (context.node_count > 0) {
      const auto [mate, first] = mates.try_emplace(context.node, memories_.size() - 1);
      if (!first) memories_.back().share_node(memories_[mate->second]);
    }
    for (const Holding& holding : precondition(problem, context.me)) {
      memories_.back().write(holding.slice, inputs_.back());
    }
  }
}

/// All ranks' vectors, combined from left to right; empty where nothing is combined.
Elements CheckedMemory::combined() const {
  if (!combines(problem_.collective)) return {};
  Elements all = inputs_.front();
  for (std::size_t rank = 1; rank < inputs_.size(); ++rank) {
    interruption_point();
    std::ranges::transform(all, inputs_[rank], all.begin(), operator_);
  }
  return all;
}

Count CheckedMemory::wrong() const {
  Count wrong = 0;
  const Elements all = combined();
  for (Rank rank = 0; rank < problem_.ranks; ++rank) {
    for (const Holding& holding : postcondition(problem_, rank)) {
      interruption_point();
      const Elements found = memories_[static_cast<std::size_t>(rank)].read(holding.slice);
      const auto& from = holding.contributor;
      const Elements& right = from ? inputs_[static_cast<std::size_t>(*from)] : all;
      const Count place = holding.first_element - (from ? problem_.before(*from).begin : 0);
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (found[i] != right[static_cast<std::size_t>(place) + i]) ++wrong;
      }
    }
  }
  return wrong;
}

}  // namespace latecomer
