// The calls and messages of a rank's trace file, checked.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/rank_file.hpp"
#include "trace/records.hpp"

namespace latecomer::trace {

// What a record must hold.

inline constexpr std::int64_t kMostTime = std::int64_t{1} << 61;  // differences fit in 64 bits

inline bool is_time(std::int64_t time) { return time > -kMostTime && time < kMostTime; }

/// The parts of a file that its calls and messages rest on.
struct About {
  const Header& header;
  Numbered texts;  // any value: there is one
  Numbered comms;  // the size
};

/// Gives each rule to `rule(name, byte, right, words, holds, value)`: what is wrong where it does
/// not hold of a record, and what would be right. `words`: such a record stays, without the word.
template <class Rule>
void rules_of(const Call* /*kind*/, const About& about, Rule&& rule) {
  const auto text = [&about](std::uint32_t number) { return about.texts.has(number); };
  constexpr const char* kText = "the number of a text";
  constexpr const char* kTime = "a time in nanoseconds";
  rule(
      "communicator", offsetof(Call, communicator), "one that the file describes", false,
      [&](const Call& r) { return about.comms.has(r.communicator); },
      [](const Call& r) { return std::to_string(r.communicator); });
  rule(
      "collective", offsetof(Call, collective), kText, false,
      [&](const Call& r) { return text(r.collective); },
      [](const Call& r) { return std::to_string(r.collective); });
  rule(
      "site", offsetof(Call, site), kText, true, [&](const Call& r) { return text(r.site); },
      [](const Call& r) { return std::to_string(r.site); });
  rule(
      "algorithm", offsetof(Call, algorithm), kText, true,
      [&](const Call& r) { return text(r.algorithm); },
      [](const Call& r) { return std::to_string(r.algorithm); });
  rule(
      "op", offsetof(Call, op), kText, true, [&](const Call& r) { return text(r.op); },
      [](const Call& r) { return std::to_string(r.op); });
  rule(
      "served", offsetof(Call, served), "below 6", false,
      [](const Call& r) { return r.served <= Served::other; },
      [](const Call& r) { return std::to_string(static_cast<int>(r.served)); });
  rule(
      "overlaps", offsetof(Call, overlaps), "0 or 1", false,
      [](const Call& r) { return r.overlaps <= 1; },
      [](const Call& r) { return std::to_string(r.overlaps); });
  rule(
      "exit", offsetof(Call, exit), "at or after the arrival", false,
      [](const Call& r) { return r.exit >= r.arrival; },
      [](const Call& r) { return std::to_string(r.exit); });
  rule(
      "arrival", offsetof(Call, arrival), kTime, false,
      [](const Call& r) { return is_time(r.arrival); },
      [](const Call& r) { return std::to_string(r.arrival); });
  rule(
      "exit", offsetof(Call, exit), kTime, false, [](const Call& r) { return is_time(r.exit); },
      [](const Call& r) { return std::to_string(r.exit); });
  rule(
      "bytes", offsetof(Call, bytes), "-1 or more", false,
      [](const Call& r) { return r.bytes >= -1; },
      [](const Call& r) { return std::to_string(r.bytes); });
  rule(
      "root", offsetof(Call, root), "-1, or a rank of the communicator", false,
      [&](const Call& r) { return r.root >= -1 && r.root < about.comms[r.communicator]; },
      [](const Call& r) { return std::to_string(r.root); });
}

template <class Rule>
void rules_of(const Message* /*kind*/, const About& about, Rule&& rule) {
  constexpr const char* kTime = "a time in nanoseconds";
  rule(
      "communicator", offsetof(Message, communicator), "one that the file describes", false,
      [&](const Message& r) { return about.comms.has(r.communicator); },
      [](const Message& r) { return std::to_string(r.communicator); });
  rule(
      "site", offsetof(Message, site), "the number of a text", true,
      [&](const Message& r) { return about.texts.has(r.site); },
      [](const Message& r) { return std::to_string(r.site); });
  rule(
      "what", offsetof(Message, what), "below 6", false,
      [](const Message& r) { return r.what <= What::probe; },
      [](const Message& r) { return std::to_string(static_cast<int>(r.what)); });
  rule(
      "flags", offsetof(Message, flags), "below 32", false,
      [](const Message& r) { return r.flags < 2 * Way::matched_probe; },
      [](const Message& r) { return std::to_string(r.flags); });
  rule(
      "peer", offsetof(Message, peer), "a rank of the communicator", false,
      [&](const Message& r) { return r.peer >= 0 && r.peer < about.comms[r.communicator]; },
      [](const Message& r) { return std::to_string(r.peer); });
  rule(
      "tag", offsetof(Message, tag), "0 or more, or -2 to -4", false,
      [](const Message& r) {
        return r.tag >= 0 || (r.tag >= OwnTag::window_complete && r.tag <= OwnTag::of_neighbours);
      },
      [](const Message& r) { return std::to_string(r.tag); });
  rule(
      "bytes", offsetof(Message, bytes), "0 or more", false,
      [](const Message& r) { return r.bytes >= 0; },
      [](const Message& r) { return std::to_string(r.bytes); });
  rule(
      "posted", offsetof(Message, posted), kTime, false,
      [](const Message& r) { return is_time(r.posted); },
      [](const Message& r) { return std::to_string(r.posted); });
  rule(
      "begin", offsetof(Message, begin), kTime, false,
      [](const Message& r) { return is_time(r.begin); },
      [](const Message& r) { return std::to_string(r.begin); });
  rule(
      "end", offsetof(Message, end), kTime, false, [](const Message& r) { return is_time(r.end); },
      [](const Message& r) { return std::to_string(r.end); });
  rule(
      "begin", offsetof(Message, begin), "at or after the posting", false,
      [](const Message& r) { return r.begin >= r.posted; },
      [](const Message& r) { return std::to_string(r.begin); });
  rule(
      "end", offsetof(Message, end), "at or after the begin", false,
      [](const Message& r) { return r.end >= r.begin; },
      [](const Message& r) { return std::to_string(r.end); });
  rule(
      "between", offsetof(Message, between), "a part of the time from the posting to the begin",
      false, [](const Message& r) { return r.between >= 0 && r.between <= r.begin - r.posted; },
      [](const Message& r) { return std::to_string(r.between); });
}

template <class Rule>
void rules_of(const Other* /*kind*/, const About& /*about*/, Rule&& rule) {
  rule(
      "begin", offsetof(Other, begin), "a time in nanoseconds", false,
      [](const Other& r) { return is_time(r.begin); },
      [](const Other& r) { return std::to_string(r.begin); });
  rule(
      "end", offsetof(Other, end), "a time in nanoseconds", false,
      [](const Other& r) { return is_time(r.end); },
      [](const Other& r) { return std::to_string(r.end); });
  rule(
      "inside", offsetof(Other, inside), "a part of the time from the begin to the end", false,
      [](const Other& r) { return r.inside >= 0 && r.inside <= r.end - r.begin; },
      [](const Other& r) { return std::to_string(r.inside); });
  rule(
      "between", offsetof(Other, between), "a part of the rest of that", false,
      [](const Other& r) { return r.between >= 0 && r.between <= r.end - r.begin - r.inside; },
      [](const Other& r) { return std::to_string(r.between); });
}

/// The times between which a record lies, and those of its file.
inline std::int64_t first_of(const Call& call) { return call.arrival; }
inline std::int64_t last_of(const Call& call) { return call.exit; }
inline std::int64_t first_of(const Message& message) { return message.posted; }
inline std::int64_t last_of(const Message& message) { return message.end; }
inline std::int64_t first_of(const Other& other) { return other.begin; }
inline std::int64_t last_of(const Other& other) { return other.end; }

template <class Record>
bool is_within(const Header& header, const Record& record) {
  return first_of(record) >= header.begin && (header.end == 0 || last_of(record) <= header.end);
}

// The records, and what they become.

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
