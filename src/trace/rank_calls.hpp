// The calls and messages of a rank's trace file, checked.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
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

/// Gives each rule to `rule(name, member, right, holds)`: of which member something is said, what
/// would be right, and whether that holds of a record. A record that breaks one is left out; one
/// that breaks a rule of `word(...)` stays, without the word.
template <class Rule, class Word>
void rules_of(const Call* /*kind*/, const About& about, Rule&& rule, Word&& word) {
  const auto text = [&about](std::uint32_t number) { return about.texts.has(number); };
  constexpr const char* kText = "the number of a text";
  constexpr const char* kTime = "a time in nanoseconds";
  rule("communicator", &Call::communicator, "one that the file describes",
       [&](const Call& r) { return about.comms.has(r.communicator); });
  rule("collective", &Call::collective, kText, [&](const Call& r) { return text(r.collective); });
  word("site", &Call::site, kText, [&](const Call& r) { return text(r.site); });
  word("algorithm", &Call::algorithm, kText, [&](const Call& r) { return text(r.algorithm); });
  word("op", &Call::op, kText, [&](const Call& r) { return text(r.op); });
  rule("served", &Call::served, "below 6", [](const Call& r) { return r.served <= Served::other; });
  rule("overlaps", &Call::overlaps, "0 or 1", [](const Call& r) { return r.overlaps <= 1; });
  rule("exit", &Call::exit, "at or after the arrival",
       [](const Call& r) { return r.exit >= r.arrival; });
  rule("arrival", &Call::arrival, kTime, [](const Call& r) { return is_time(r.arrival); });
  rule("exit", &Call::exit, kTime, [](const Call& r) { return is_time(r.exit); });
  rule("bytes", &Call::bytes, "-1 or more", [](const Call& r) { return r.bytes >= -1; });
  rule("root", &Call::root, "-1, or a rank of the communicator",
       [&](const Call& r) { return r.root >= -1 && r.root < about.comms[r.communicator]; });
}

template <class Rule, class Word>
void rules_of(const Message* /*kind*/, const About& about, Rule&& rule, Word&& word) {
  constexpr const char* kTime = "a time in nanoseconds";
  rule("communicator", &Message::communicator, "one that the file describes",
       [&](const Message& r) { return about.comms.has(r.communicator); });
  word("site", &Message::site, "the number of a text",
       [&](const Message& r) { return about.texts.has(r.site); });
  rule("what", &Message::what, "below 6", [](const Message& r) { return r.what <= What::probe; });
  rule("flags", &Message::flags, "below 32",
       [](const Message& r) { return r.flags < 2 * Way::matched_probe; });
  rule("peer", &Message::peer, "a rank of the communicator",
       [&](const Message& r) { return r.peer >= 0 && r.peer < about.comms[r.communicator]; });
  rule("tag", &Message::tag, "0 or more, or -2 to -4", [](const Message& r) {
    return r.tag >= 0 || (r.tag >= OwnTag::window_complete && r.tag <= OwnTag::of_neighbours);
  });
  rule("bytes", &Message::bytes, "0 or more", [](const Message& r) { return r.bytes >= 0; });
  rule("posted", &Message::posted, kTime, [](const Message& r) { return is_time(r.posted); });
  rule("begin", &Message::begin, kTime, [](const Message& r) { return is_time(r.begin); });
  rule("end", &Message::end, kTime, [](const Message& r) { return is_time(r.end); });
  rule("begin", &Message::begin, "at or after the posting",
       [](const Message& r) { return r.begin >= r.posted; });
  rule("end", &Message::end, "at or after the begin",
       [](const Message& r) { return r.end >= r.begin; });
  rule("between", &Message::between, "a part of the time from the posting to the begin",
       [](const Message& r) { return r.between >= 0 && r.between <= r.begin - r.posted; });
}

template <class Rule, class Word>
void rules_of(const Other* /*kind*/, const About& /*about*/, Rule&& rule, Word&& /*word*/) {
  constexpr const char* kTime = "a time in nanoseconds";
  rule("begin", &Other::begin, kTime, [](const Other& r) { return is_time(r.begin); });
  rule("end", &Other::end, kTime, [](const Other& r) { return is_time(r.end); });
  rule("inside", &Other::inside, "a part of the time from the begin to the end",
       [](const Other& r) { return r.inside >= 0 && r.inside <= r.end - r.begin; });
  rule("between", &Other::between, "a part of the rest of that",
       [](const Other& r) { return r.between >= 0 && r.between <= r.end - r.begin - r.inside; });
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

inline constexpr std::size_t kRecord = sizeof(Call);

/// Where a member lies in its record.
template <class Record, class Value>
std::size_t place_of(Value Record::* member) {
  static const Record record;
  return static_cast<std::size_t>(reinterpret_cast<const char*>(&(record.*member)) -
                                  reinterpret_cast<const char*>(&record));
}

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
