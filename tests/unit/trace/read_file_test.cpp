// Trace files as a process leaves them, cut, lying and with wrong bytes: what can be read is read.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/reproducible.hpp"
#include "reference/sweeps.hpp"
#include "trace/rank_file.hpp"

namespace latecomer::trace {
namespace {

constexpr std::size_t kBytes = sizeof(Call);  // of any record
constexpr std::int32_t kRank = 1;             // whose file it is

/// A file that is gone at the end.
class Written {
 public:
  explicit Written(std::string_view bytes) : path_(::testing::TempDir() + "trace.XXXXXX") {
    const int file = mkstemp(path_.data());
    EXPECT_GE(file, 0);
    EXPECT_EQ(write(file, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    close(file);
  }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  ~Written() { unlink(path_.c_str()); }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] RankFile read() const {
    SharedNumbers shared;
    return read_rank_file(path_, kRank, shared);
  }

 private:
  std::string path_;
};

RankFile read(std::string_view bytes) { return Written(bytes).read(); }

template <class Record>
void append(std::string& bytes, const Record& record) {
  bytes.append(reinterpret_cast<const char*>(&record), sizeof record);
}

template <class Record>
Record record_at(std::string_view bytes, std::size_t place) {
  Record record;
  std::memcpy(&record, bytes.data() + sizeof(Header) + place * kBytes, sizeof record);
  return record;
}

Header header_of(std::string_view bytes) {
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}

void set_header(std::string& bytes, const Header& header) {
  std::memcpy(bytes.data(), &header, sizeof header);
}

void append_text(std::string& bytes, std::uint32_t id, std::string_view words) {
  constexpr std::size_t kPiece = sizeof(Text::piece);
  for (std::size_t at = 0; at == 0 || at < words.size(); at += kPiece) {
    const std::string_view piece = words.substr(at, kPiece);
    Text record;
    record.id = id;
    record.bytes = static_cast<std::uint8_t>(piece.size());
    record.last = at + kPiece >= words.size() ? 1 : 0;
    std::ranges::copy(piece, record.piece.begin());
    append(bytes, record);
  }
}

void append_call(std::string& bytes, std::uint32_t comm, std::uint64_t sequence,
                 std::int64_t arrival, std::int64_t exit, bool overlaps = false) {
  Call record;
  record.communicator = comm;
  record.sequence = sequence;
  record.arrival = arrival;
  record.exit = exit;
  record.collective = 1;
  record.overlaps = overlaps ? 1 : 0;
  append(bytes, record);
}

void append_message(std::string& bytes, std::uint32_t order, What what, std::int64_t posted) {
  Message record;
  record.what = what;
  record.order = order;
  record.peer = 2;
  record.tag = static_cast<std::int32_t>(order);
  record.bytes = 8;
  record.posted = posted;
  record.begin = posted + 10;
  record.end = posted + 30;
  record.between = 5;
  append(bytes, record);
}

/// Each kind of record, of rank 1 of 4.
std::string sample() {
  Header header;
  header.rank = kRank;
  header.ranks = 4;
  header.begin = 1000;
  header.end = 9000;
  std::string bytes(sizeof header, '\0');
  append_text(bytes, 0, "");
  append_text(bytes, 1, "allreduce");
  append_text(bytes, 2, std::string(100, 'x'));
  Communicator world;
  world.size = 4;
  world.stride = 1;
  world.rank = kRank;
  append(bytes, world);
  Communicator pair = world;
  pair.id = 1;
  pair.size = 2;
  pair.listed = Listed::by_ranks;
  pair.name = 2;
  append(bytes, pair);
  Members members;
  members.communicator = 1;
  members.count = 2;
  members.ranks = {3, kRank};
  append(bytes, members);
  for (std::int64_t i = 0; i < 6; ++i) {
    append_call(bytes, i < 4 ? 0 : 1, static_cast<std::uint64_t>(i), 1100 + 100 * i,
                1150 + 100 * i);
    append_message(bytes, static_cast<std::uint32_t>(i), static_cast<What>(i), 2000 + 50 * i);
  }
  append_call(bytes, 0, 4, 1120, 3000, true);
  Completion completion;
  completion.sequence = 4;
  completion.begin = 2900;
  append(bytes, completion);
  Clock clock;
  clock.origin = 1500;
  append(bytes, clock);
  for (const std::int64_t begin : {4000, 5000}) {
    Other other;
    other.calls = OtherCalls::windows;
    other.begin = begin;
    other.end = begin + 100;
    other.inside = 60;
    other.between = 40;
    append(bytes, other);
  }
  header.used = (bytes.size() - sizeof header) / kBytes;
  set_header(bytes, header);
  return bytes;
}

/// Texts, communicators and records of two files that should be the same.
void expect_same(const RankFile& found, const RankFile& right) {
  const auto same = [](const auto& a, const auto& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof *a.data()) == 0);
  };
  EXPECT_EQ(found.texts, right.texts);
  EXPECT_TRUE(same(found.messages, right.messages));
  EXPECT_TRUE(same(found.others, right.others));
  EXPECT_TRUE(same(found.completions, right.completions));
  EXPECT_TRUE(same(found.clocks, right.clocks));
  EXPECT_EQ(found.messages_whole, right.messages_whole);
  EXPECT_EQ(found.last_exit, right.last_exit);
  ASSERT_EQ(found.comms.size(), right.comms.size());
  for (std::size_t i = 0; i < found.comms.size(); ++i) {
    const FileComm& own = found.comms[i];
    const FileComm& other = right.comms[i];
    EXPECT_EQ(own.members, other.members);
    EXPECT_EQ(*own.calls.place, *other.calls.place);
    EXPECT_EQ(*own.overlapping.place, *other.overlapping.place);
  }
}

TEST(ReadFile, FindsAllOfAWholeFile) {
  const RankFile file = read(sample());
  ASSERT_FALSE(file.refused);
  EXPECT_TRUE(file.faults.empty());
  EXPECT_EQ(file.texts.at(2), std::string(100, 'x'));
  ASSERT_EQ(file.comms.size(), 2U);
  EXPECT_EQ(file.comms[0].members, (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(file.comms[1].members, (std::vector<std::int32_t>{3, 1}));
  EXPECT_EQ(*file.comms[0].calls.sequence, (std::vector<std::uint64_t>{0, 1, 2, 3}));
  EXPECT_EQ(*file.comms[0].overlapping.sequence, (std::vector<std::uint64_t>{4}));
  EXPECT_EQ(*file.comms[1].calls.sequence, (std::vector<std::uint64_t>{4, 5}));
  EXPECT_EQ(file.messages.size(), 6U);
  EXPECT_EQ(file.messages_whole, kMostOrder);
  EXPECT_EQ(file.completions.size(), 1U);
  EXPECT_EQ(file.clocks.size(), 1U);
  EXPECT_EQ(file.others.size(), 2U);
  EXPECT_EQ(file.last_exit, 1650);
}

/// As one that says itself that it ends there.
TEST(ReadFile, ReadsAFileThatIsCutAtAnyByteUpToThere) {
  const std::string whole = sample();
  RankFile right;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    SCOPED_TRACE("cut at " + std::to_string(length));
    const RankFile found = read(std::string_view(whole).substr(0, length));
    if (length < sizeof(Header)) {
      ASSERT_TRUE(found.refused);
      EXPECT_EQ(found.refused->byte, static_cast<std::int64_t>(length));
      continue;
    }
    if ((length - sizeof(Header)) % kBytes == 0) {
      Header header = header_of(whole);
      header.used = (length - sizeof header) / kBytes;
      std::string honest = whole.substr(0, length);
      set_header(honest, header);
      right = read(honest);
    }
    ASSERT_FALSE(found.refused || right.refused);
    EXPECT_EQ(found.faults.size(), right.faults.size() + 1);
    EXPECT_EQ(found.faults.at(0).byte, length);
    expect_same(found, right);
  }
}

TEST(ReadFile, RefusesAWrongHeaderAndNamesTheByte) {
  const auto expect_refused = [](auto&& change, std::size_t byte) {
    std::string bytes = sample();
    Header header = header_of(bytes);
    change(header);
    set_header(bytes, header);
    const RankFile file = read(bytes);
    ASSERT_TRUE(file.refused);
    EXPECT_EQ(file.refused->byte, static_cast<std::int64_t>(byte)) << file.refused->what;
  };
  expect_refused([](Header& h) { h.magic[3] = 'x'; }, offsetof(Header, magic));
  expect_refused([](Header& h) { h.byte_order = 0x04030201; }, offsetof(Header, byte_order));
  expect_refused([](Header& h) { h.version = 2; }, offsetof(Header, version));
  expect_refused([](Header& h) { h.header_bytes = 128; }, offsetof(Header, header_bytes));
  expect_refused([](Header& h) { h.record_bytes = 0; }, offsetof(Header, record_bytes));
  expect_refused([](Header& h) { h.ranks = 1 << 30; }, offsetof(Header, ranks));
  expect_refused([](Header& h) { h.rank = 4; }, offsetof(Header, rank));
  expect_refused([](Header& h) { h.rank = 2; }, offsetof(Header, rank));
  expect_refused([](Header& h) { h.end = std::int64_t{1} << 62; }, offsetof(Header, end));
}

TEST(ReadFile, TakesNoSizeAtItsWord) {
  const std::string whole = sample();
  std::string more = whole;
  Header header = header_of(whole);
  header.used = ~std::uint64_t{0};
  set_header(more, header);
  const RankFile found = read(more);
  ASSERT_EQ(found.faults.size(), 1U);
  expect_same(found, read(whole));

  Communicator many;
  many.size = 1 << 30;
  std::string members = whole;
  append(members, many);
  header.used = (members.size() - sizeof header) / kBytes;
  set_header(members, header);
  EXPECT_TRUE(read(members).refused);

  const Written large(whole);
  ASSERT_EQ(truncate(large.path().c_str(), static_cast<off_t>(kMostFileBytes + 1)), 0);
  ASSERT_TRUE(large.read().refused);
  EXPECT_EQ(large.read().refused->what, "size");
}

TEST(ReadFile, RefusesWhatIsNoFile) {
  SharedNumbers shared;
  EXPECT_TRUE(read_rank_file(::testing::TempDir() + "no.such.trace", kRank, shared).refused);
  EXPECT_TRUE(read_rank_file(::testing::TempDir(), kRank, shared).refused);
}

std::size_t records_in(std::string_view bytes) {
  const std::uint64_t have = (bytes.size() - sizeof(Header)) / kBytes;
  return static_cast<std::size_t>(std::min(have, header_of(bytes).used));
}

const FileComm* comm_of(const RankFile& file, std::uint32_t id) {
  for (const FileComm& each : file.comms) {
    if (each.id == id) return &each;
  }
  return nullptr;
}

bool is_right(const Message& message, const RankFile& file) {
  const FileComm* const comm = comm_of(file, message.communicator);
  constexpr std::int64_t kMost = std::int64_t{1} << 61;
  for (const std::int64_t time : {message.posted, message.begin, message.end}) {
    if (time <= -kMost || time >= kMost) return false;
  }
  return comm != nullptr && message.peer >= 0 && message.peer < comm->size &&
         static_cast<int>(message.what) < 6 && message.flags < 32 && message.tag >= 0 &&
         message.bytes >= 0 && message.posted <= message.begin && message.begin <= message.end &&
         message.between >= 0 && message.between <= message.begin - message.posted;
}

/// The orders of the messages that a file should give.
std::vector<std::uint32_t> right_messages(std::string_view bytes, const RankFile& file) {
  std::vector<Message> all;
  for (std::size_t at = 0; at < records_in(bytes); ++at) {
    const auto message = record_at<Message>(bytes, at);
    if (message.kind == Kind::message) all.push_back(message);
  }
  std::vector<Message> right;
  for (std::size_t at = 0; at < all.size(); ++at) {
    bool comes_again = false;
    for (std::size_t i = 0; i < at; ++i) comes_again |= all[i].order == all[at].order;
    if (!comes_again && is_right(all[at], file)) right.push_back(all[at]);
  }
  const Header& header = file.header;
  const auto is_outside = [&](const Message& each) {
    return each.posted < header.begin || (header.end != 0 && each.end > header.end);
  };
  const auto outside = static_cast<std::size_t>(std::ranges::count_if(right, is_outside));
  const bool tells_times = header.end == 0 || header.end >= header.begin;
  if (tells_times && 2 * outside < right.size()) std::erase_if(right, is_outside);
  std::vector<std::uint32_t> orders;
  for (const Message& each : right) orders.push_back(each.order);
  return orders;
}

/// A rank's calls on a communicator have numbers that rise, and one ends before the next begins.
void expect_in_turn(std::string_view bytes, const FileComm& comm) {
  for (std::size_t at = 0; at < comm.calls.place->size(); ++at) {
    const auto call = record_at<Call>(bytes, (*comm.calls.place)[at]);
    EXPECT_EQ(call.kind, Kind::call);
    EXPECT_EQ(call.communicator, comm.id);
    EXPECT_EQ(call.sequence, (*comm.calls.sequence)[at]);
    EXPECT_EQ(call.overlaps, 0);
    EXPECT_LE(call.arrival, call.exit);
    if (at == 0) continue;
    const auto before = record_at<Call>(bytes, (*comm.calls.place)[at - 1]);
    EXPECT_LT(before.sequence, call.sequence);
    EXPECT_LE(before.exit, call.arrival);
  }
}

/// Some bytes of records are others; in one of four files, of the header, too.
std::string spoilt(std::string bytes, Random& random) {
  const std::size_t from = random.below(4) == 0 ? 0 : sizeof(Header);
  for (std::uint64_t left = 1 + random.below(12); left > 0; --left) {
    const std::size_t at = from + random.below(bytes.size() - from);
    const std::uint64_t way = random.below(3);
    bytes[at] = static_cast<char>(way == 0 ? random.below(256)
                                           : static_cast<unsigned char>(bytes[at]) ^
                                                 (1U << random.below(8)));
    if (way != 1) continue;
    const std::size_t records = (bytes.size() - sizeof(Header)) / kBytes;
    const std::size_t to = sizeof(Header) + random.below(records) * kBytes;
    bytes.replace(to, kBytes, bytes, sizeof(Header) + random.below(records) * kBytes, kBytes);
  }
  return bytes;
}

TEST(ReadFile, FindsWhatIsRightInFilesWithWrongBytes) {
  const std::string whole = sample();
  for (int seed = 1; seed <= testing::random_runs(4000); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(static_cast<std::uint64_t>(seed));
    const std::string bytes = spoilt(whole, random);
    RankFile file = read(bytes);
    if (file.refused) continue;
    RankFile* const alone = &file;
    gather_members({&alone, 1});
    std::vector<std::uint32_t> orders;
    for (const Message& each : file.messages) orders.push_back(each.order);
    EXPECT_EQ(orders, right_messages(bytes, file));
    for (const FileComm& each : file.comms) {
      expect_in_turn(bytes, each);
      EXPECT_EQ(each.members.size(), static_cast<std::size_t>(each.size));
    }
    for (const Other& each : file.others)
      EXPECT_LE(each.inside + each.between, each.end - each.begin);
    if (::testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace latecomer::trace
