#include "simulate/memory.hpp"

#include <algorithm>

namespace latecomer {
namespace {

constexpr Element kUnset = 0xdeadbeefdeadbeefULL;

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

}  // namespace latecomer
