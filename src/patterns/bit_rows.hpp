// Sets of small numbers; each set is a row of bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

using Word = std::uint64_t;
using Bits = std::span<Word>;
using ConstBits = std::span<const Word>;

inline constexpr int kWordBits = 64;

inline bool contains(ConstBits set, Count member) {
  return ((set[static_cast<std::size_t>(member / kWordBits)] >> (member % kWordBits)) & 1U) != 0;
}
inline void insert(Bits set, Count member) {
  set[static_cast<std::size_t>(member / kWordBits)] |= Word{1} << (member % kWordBits);
}
inline void erase(Bits set, Count member) {
  set[static_cast<std::size_t>(member / kWordBits)] &= ~(Word{1} << (member % kWordBits));
}

/// Calls visit(member) for the members of the set whose words are word(0), word(1), ..., ascending,
/// until it returns true. True if it did.
template <class WordAt, class Visit>
bool any_member(std::size_t words, const WordAt& word, const Visit& visit) {
  for (std::size_t i = 0; i < words; ++i) {
    for (Word rest = word(i); rest != 0; rest &= rest - 1) {
      if (visit(static_cast<Count>(i) * kWordBits + std::countr_zero(rest))) return true;
    }
  }
  return false;
}

/// Calls visit(member) for each member. Each word of the set is read once, just before its members
/// are visited.
template <class Visit>
void for_each_member(ConstBits set, const Visit& visit) {
  any_member(
      set.size(), [&](std::size_t i) { return set[i]; },
      [&](Count member) {
        visit(member);
        return false;
      });
}

inline void unite(Bits set, ConstBits other) {
  for (std::size_t i = 0; i < set.size(); ++i) set[i] |= other[i];
}
inline void subtract(Bits set, ConstBits other) {
  for (std::size_t i = 0; i < set.size(); ++i) set[i] &= ~other[i];
}
/// True if `all` has all members of `set`.
inline bool within(ConstBits set, ConstBits all) {
  for (std::size_t i = 0; i < set.size(); ++i) {
    if ((set[i] & ~all[i]) != 0) return false;
  }
  return true;
}

class BitRows {
 public:
  BitRows(Count rows, Count columns)
      : words_(static_cast<std::size_t>((columns + kWordBits - 1) / kWordBits)),
        bits_(words_ * static_cast<std::size_t>(rows), 0) {}

  [[nodiscard]] std::size_t words() const { return words_; }
  Bits operator[](Count row) { return {&bits_[words_ * static_cast<std::size_t>(row)], words_}; }
  ConstBits operator[](Count row) const {
    return {&bits_[words_ * static_cast<std::size_t>(row)], words_};
  }
  void clear() { std::fill(bits_.begin(), bits_.end(), 0); }

 private:
  std::size_t words_;
  std::vector<Word> bits_;
};

}  // namespace latecomer
