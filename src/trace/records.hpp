// The format of trace files, version 1: a header, then records of one size. Numbers are in this
// machine's byte order, which the header shows. rank_file.hpp reads it.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

namespace latecomer::trace {

inline constexpr std::array<char, 8> kMagic = {'L', 'A', 'T', 'E', 'T', 'R', 'C', '\0'};
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kByteOrder = 0x01020304;

enum class Doing : std::uint8_t { nothing, collective, message, probe, completion, other };

/// The call that the process is in, for readers of a file that is being written; of several threads
/// the last one that entered or left a call. It is whole where `turn` is even.
struct Status {
  std::uint32_t turn = 0;  // one more when it begins to change, and when it has changed
  Doing doing = Doing::nothing;
  std::uint8_t what = 0;  // of a message: What; of another call: bits of OtherCalls
  std::uint16_t reserved = 0;
  std::int64_t since = 0;  // entry of the call; else exit of the last one
  // In a collective: as Call::sequence; outside of calls: that of the last one, -1: none; in a
  // message: its tag, -1: any.
  std::int64_t sequence = 0;
  std::uint32_t communicator = 0;  // of that collective
  std::uint32_t name = 0;          // of a collective, a text
  std::int32_t peer = 0;           // of a message: the other rank, as the program calls it; -1: any
  std::uint32_t site = 0;
};

/// Times are those of CLOCK_MONOTONIC, in nanoseconds.
struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t header_bytes = 256;
  std::uint32_t record_bytes = 64;
  std::uint32_t byte_order = kByteOrder;
  std::int32_t rank = 0;  // of MPI_COMM_WORLD
  std::int32_t ranks = 1;
  std::uint64_t pid = 0;
  std::uint64_t clock = 0;  // equal where ranks read the same clock; 0: not known
  std::int64_t begin = 0;
  std::int64_t real = 0;      // CLOCK_REALTIME minus CLOCK_MONOTONIC
  std::int64_t end = 0;       // 0: it did not end in order
  std::uint64_t used = 0;     // records
  std::uint64_t dropped = 0;  // calls that there was no room for
  std::uint64_t limit = 0;    // bytes of the file at most
  std::array<char, 64> host{};
  std::array<char, 32> library{};   // version
  std::uint64_t messages = 0;       // 1: messages were looked at; 0: the file has none
  std::uint64_t messages_lost = 0;  // records of messages, probes and other waits that are missing
  /// Of messages on communicators that the file describes: 1 more than the least `order`; 0: none
  /// is lost. From there on a message of one rank may be matched with another one of the other
  /// rank.
  std::uint64_t first_lost = 0;
  Status status;
};
static_assert(sizeof(Header) == 256 && std::is_trivially_copyable_v<Header>);

inline constexpr std::uint64_t kMostFileBytes = std::uint64_t{4} << 30;

/// The bytes of a file that may hold messages: those leave a quarter of it to calls.
[[nodiscard]] constexpr std::uint64_t room_for_messages(std::uint64_t limit) {
  return limit / 4 * 3;
}

enum class Kind : std::uint8_t {
  unused,
  text,
  communicator,
  members,
  call,
  clock,
  message,
  completion,
  other,
  outside,
};

/// A piece of a text; those of one text follow each other. Records name texts by their id.
struct Text {
  Kind kind = Kind::text;
  std::uint8_t bytes = 0;  // of this piece
  std::uint8_t last = 0;   // 1: no more pieces follow
  std::uint8_t reserved = 0;
  std::uint32_t id = 0;  // texts are numbered from 0, in their order
  std::array<char, 56> piece{};
};

/// How a communicator's members are known.
enum class Listed : std::uint8_t {
  by_stride,  // first, first + stride, ...
  by_ranks,   // `members` records follow
  by_files,   // each rank knows its own place alone: readers bring together those of all files
};

/// The same on all its ranks: `members`, `key`, and `number` among the communicators with this key.
struct Communicator {
  Kind kind = Kind::communicator;
  Listed listed = Listed::by_stride;
  std::uint8_t together = 0;  // 1: ranks leave calls in which all wait for each other together
  std::uint8_t reserved = 0;
  std::uint32_t id = 0;   // in this file
  std::uint64_t key = 0;  // a hash of members and how it was made, or what the library knows it by
  std::uint32_t number = 0;
  std::int32_t size = 0;
  std::int32_t rank = 0;  // in it
  std::uint32_t name = 0;
  std::int32_t first = 0;
  std::int32_t stride = 0;
  std::array<char, 24> reserved_too{};
};

struct Members {
  Kind kind = Kind::members;
  std::uint8_t count = 0;
  std::uint16_t reserved = 0;
  std::uint32_t communicator = 0;
  std::uint32_t first = 0;  // the place of the first of them in the communicator
  std::int32_t reserved_too = 0;
  std::array<std::int32_t, 12> ranks{};  // of MPI_COMM_WORLD
};

enum class Served : std::uint8_t {
  handled,       // by latecomer
  native,        // by the MPI library, as was chosen or asked for
  short_vector,  // by the MPI library at once
  fallback,      // by the MPI library, for another reason
  failed,
  other,  // a collective that latecomer only watches
};

struct Call {
  Kind kind = Kind::call;
  Served served = Served::native;
  std::uint8_t overlaps = 0;  // 1: completed by another call, so others may come in between
  std::uint8_t asleep = 0;    // part of the call that the rank slept, in 255ths
  std::uint32_t communicator = 0;
  std::uint64_t sequence = 0;  // of the collectives on the communicator, from 0
  std::int64_t bytes = -1;     // of the whole vector; -1: not known on this rank
  std::int64_t arrival = 0;
  std::int64_t exit = 0;
  std::uint32_t collective = 0;
  std::uint32_t site = 0;
  std::uint32_t algorithm = 0;
  std::uint32_t op = 0;
  std::int32_t root = -1;
  std::int32_t element_bytes = 0;

  /// The time that the rank slept, of a call whose times are known.
  [[nodiscard]] double slept() const {
    return asleep / 255.0 * static_cast<double>(exit - arrival);
  }
};

/// The call that completed a collective whose `overlaps` is 1.
struct Completion {
  Kind kind = Kind::completion;
  std::array<std::uint8_t, 3> reserved{};
  std::uint32_t communicator = 0;
  std::uint64_t sequence = 0;
  std::int64_t begin = 0;    // entry; the collective's exit is its exit
  std::int64_t between = 0;  // as in Message
  std::array<char, 32> reserved_too{};
};

/// The clock that a communicator's ranks share, its rank 0's: local time + offset +
/// drift * (local time - origin).
struct Clock {
  Kind kind = Kind::clock;
  std::array<std::uint8_t, 3> reserved{};
  std::uint32_t communicator = 0;
  std::int64_t origin = 0;
  double offset = 0;  // seconds
  double error = 0;   // seconds, at the origin
  double drift = 0;   // seconds a second
  double drift_error = 0;
  std::array<char, 16> reserved_too{};
};

enum class What : std::uint8_t {
  send,
  synchronous_send,
  buffered_send,
  ready_send,
  receive,
  probe,  // a wait for a message, which another record receives
};

/// Bits of `flags`.
enum Way : std::uint8_t {
  nonblocking = 1,
  persistent = 2,
  any_source = 4,
  any_tag = 8,
  matched_probe = 16,  // received by MPI_Mrecv or MPI_Imrecv
};

/// Tags of what is no message of the program's, but is waited for as one.
struct OwnTag {
  enum Tag : std::int32_t {
    of_neighbours = -2,    // the data of a collective among neighbours
    window_post = -3,      // MPI_Win_post, for which MPI_Win_start waits
    window_complete = -4,  // MPI_Win_complete, for which MPI_Win_wait does
  };
};

/// A message as one of its two ranks saw it. Those to and from MPI_PROC_NULL are none.
struct Message {
  Kind kind = Kind::message;
  What what = What::send;
  std::uint8_t flags = 0;
  std::uint8_t reserved = 0;
  std::uint32_t communicator = 0;
  std::int32_t peer = 0;    // rank in the communicator
  std::int32_t tag = 0;     // 0 or more, or an OwnTag
  std::int64_t bytes = 0;   // of the data that were sent, or that came
  std::int64_t posted = 0;  // entry of the call that began the operation
  /// Entry and exit of the call that completed it. A send that no call completed has that of
  /// MPI_Request_free, or of MPI_Finalize.
  std::int64_t begin = 0;
  std::int64_t end = 0;
  /// The number of the call that began it, among this process's. MPI gives messages to receives in
  /// this order. Some numbers are missing, as those of calls that failed.
  std::uint32_t order = 0;
  std::uint32_t site = 0;  // of the call that completed it
  /// Where that tested, after others that did in vain: `begin` is its entry, earlier by the time in
  /// those and by that in which the thread slept between them; this is the time between them in
  /// which it may have computed. Where it did compute belongs to neither.
  std::int64_t between = 0;
};

/// Kinds of calls, bits of Other::calls.
struct OtherCalls {
  enum Kind : std::uint8_t {
    polling = 1,        // that test, in vain or for what is not recorded
    windows = 2,        // locks, epochs, and those of one rank
    files = 4,          // one rank's reading and writing
    communicators = 8,  // that make or free them, and collectives of two groups
    neighbours = 16,    // collectives among these that failed, or of a rank that has none
    messages = 32,      // to or from no rank, and others that are not recorded
  };
};

/// Calls of a process in which it may have waited for what is not known, one after the other, with
/// no call between them that is recorded.
struct Other {
  Kind kind = Kind::other;
  std::uint8_t calls = 0;
  std::uint16_t reserved = 0;
  std::uint32_t reserved_too = 0;
  std::int64_t begin = 0;    // entry of the first one
  std::int64_t end = 0;      // exit of the last one
  std::int64_t inside = 0;   // time in them, and in which the thread slept between those that test
  std::int64_t between = 0;  // time between those that may be a wait; the rest is computation
  std::array<char, 24> reserved_three{};
};

/// How the thread that made MPI begin spent its time outside of MPI, as far as a sample tells; in
/// nanoseconds. What is left of `time` it was on a processor.
struct Outside {
  Kind kind = Kind::outside;
  std::array<std::uint8_t, 7> reserved{};
  std::int64_t time = 0;       // 0: not measured
  std::int64_t preempted = 0;  // ready to run, while others had the processor
  std::int64_t blocked = 0;    // asleep, or waiting for something else than MPI
  std::array<char, 32> reserved_too{};
};

template <class Record>
inline constexpr bool kFits = sizeof(Record) == 64 && std::is_trivially_copyable_v<Record>;
static_assert(kFits<Text> && kFits<Communicator> && kFits<Members> && kFits<Call> && kFits<Clock> &&
              kFits<Message> && kFits<Completion> && kFits<Other> && kFits<Outside>);

}  // namespace latecomer::trace
