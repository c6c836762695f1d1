// One rank's trace file, read and checked. Files are not trusted: whatever they say is checked
// before it is used. A record that is wrong is left out and counted; without its header a file is
// of no use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/records.hpp"

namespace latecomer::trace {

/// Numbers of texts or communicators with a value each; most are small.
class Numbered {
 public:
  /// `usual`: numbers below are found at once.
  explicit Numbered(std::size_t usual) : usual_(usual) {}

  void set(std::uint32_t number, std::int32_t value) {
    if (number >= usual_) {
      others_[number] = value;
      return;
    }
    if (number >= values_.size()) values_.resize(number + std::size_t{1}, kNone);
    values_[number] = value;
  }
  /// The value; kNone: there is no such number.
  [[nodiscard]] std::int32_t operator[](std::uint32_t number) const {
    if (number < values_.size()) return values_[number];
    if (others_.empty()) return kNone;
    const auto found = others_.find(number);
    return found == others_.end() ? kNone : found->second;
  }
  [[nodiscard]] bool has(std::uint32_t number) const { return (*this)[number] != kNone; }

  static constexpr std::int32_t kNone = -1;

 private:
  std::size_t usual_;
  std::vector<std::int32_t> values_;
  std::unordered_map<std::uint32_t, std::int32_t> others_;
};

/// Numbers that several files share where they are equal, as in most programs.
template <class Number>
class Shared {
 public:
  using Numbers = std::shared_ptr<const std::vector<Number>>;

  /// These numbers, or the same ones that were given before. Threads may call it at one time.
  Numbers operator()(std::vector<Number> numbers) {
    std::uint64_t hash = numbers.size();
    for (const Number each : numbers) hash = (hash ^ each) * 0x9E3779B97F4A7C15U + (hash >> 32);
    const std::scoped_lock lock(mutex_);
    auto [at, end] = known_.equal_range(hash);
    for (; at != end; ++at) {
      if (*at->second == numbers) return at->second;
    }
    numbers.shrink_to_fit();
    auto made = std::make_shared<const std::vector<Number>>(std::move(numbers));
    known_.emplace(hash, made);
    return made;
  }

 private:
  std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, Numbers> known_;
};

using Sequences = Shared<std::uint64_t>::Numbers;
using Places = Shared<std::uint32_t>::Numbers;

struct SharedNumbers {
  Shared<std::uint64_t> sequences;
  Shared<std::uint32_t> places;
};

/// Calls on a communicator, by their sequence, and their records' places in the file.
struct CallsOf {
  Sequences sequence;
  Places place;
};

/// A communicator in one file.
struct FileComm {
  std::uint32_t id = 0;
  std::uint64_t key = 0;
  std::uint32_t number = 0;
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::uint32_t name = 0;             // of a text
  bool together = false;              // as in Communicator
  std::vector<std::int32_t> members;  // ranks of the job; empty: by_files, not gathered yet
  CallsOf calls;                      // that follow each other
  CallsOf overlapping;                // calls that another one completed
};

/// What was left out: how much of it, and the first one as an example.
struct Fault {
  std::string what;
  std::uint64_t byte = 0;  // in the file
  std::string value;
  std::uint64_t count = 0;
};

/// Why a file is of no use.
struct Refusal {
  std::int64_t byte = -1;  // in the file; -1: the system cannot read it
  std::string what, value, right;
};

inline constexpr std::uint64_t kMostOrder = std::uint64_t{1} << 32;  // of a message; below it

struct RankFile {
  std::string path;
  std::optional<Refusal> refused;
  Header header;
  std::map<std::uint32_t, std::string> texts;  // bytes, by number
  std::vector<FileComm> comms;
  std::vector<Clock> clocks;
  std::vector<Message> messages;
  std::uint64_t messages_whole = kMostOrder;  // no message of a lower `order` is missing
  std::vector<Completion> completions;
  std::vector<Other> others;
  Outside outside;  // `time` 0: not known
  std::int64_t last_exit =
      std::numeric_limits<std::int64_t>::min();  // of calls that follow each other
  double slept = 0;                              // nanoseconds, in its collectives
  std::vector<Fault> faults;

  /// Counts it with those of equal words; the first one is the example.
  void add(Fault fault) {
    for (Fault& each : faults) {
      if (each.what != fault.what) continue;
      each.count += fault.count;
      return;
    }
    faults.push_back(std::move(fault));
  }
};

/// Reads the file of `rank`, as its name says.
[[nodiscard]] RankFile read_rank_file(const std::string& path, std::int64_t rank,
                                      SharedNumbers& shared);
/// Fills in the members of communicators of which each file knows its own rank's place alone; files
/// of jobs with other numbers of ranks have other communicators. A
/// place of which no file tells gets a rank that has no file, if there is one. Of two files of
/// one place, and of two places of one file, the first counts: to the others members differ.
void gather_members(std::span<RankFile* const> files);

}  // namespace latecomer::trace
