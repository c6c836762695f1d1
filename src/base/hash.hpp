// FNV-1a: stable over platforms and releases, so that ranks can compare hashes of the same text.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace latecomer {

[[nodiscard]] constexpr std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  return hash;
}
/// The same of numbers, by their bytes.
template <class Number, std::size_t count>
[[nodiscard]] std::uint64_t fnv1a(std::span<Number, count> numbers) {
  return fnv1a({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()});
}

}  // namespace latecomer
