// The calls and messages of a rank's trace file, checked.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "trace/numbered.hpp"
#include "trace/rank_file.hpp"
#include "trace/record_checks.hpp"

namespace latecomer::trace {

inline constexpr std::size_t kRecord = sizeof(Call);

/// Any record: the first byte is its kind.
struct Raw {
  std::array<char, kRecord> bytes;

  [[nodiscard]] std::uint8_t kind() const { return static_cast<std::uint8_t>(bytes[0]); }
  template <class Record>
  [[nodiscard]] Record as() const {
    return std::bit_cast<Record>(bytes);
  }
};

inline std::uint64_t byte_of(std::size_t record) { return sizeof(Header) + record * kRecord; }

/// Records of one kind in a file.
struct OfKind {
  const std::vector<Raw>& records;           // all of the file
  const std::vector<std::uint32_t>& places;  // of those of the kind
  const About& about;
};

/// Fills in the calls of the file's communicators, whose places among them are `slots`; what is
/// wrong is left out.
void read_calls(const OfKind& calls, const Numbered& slots, RankFile& file, SharedNumbers& shared);
/// The same for the messages.
void read_messages(const OfKind& messages, RankFile& file);
/// The same for calls that have no record of their own.
void read_others(const OfKind& others, RankFile& file);

}  // namespace latecomer::trace
