// The trace file of one rank, as it is written: mapped into memory, so that what was written
// survives the process.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/files.hpp"
#include "trace/records.hpp"

namespace latecomer::trace {

inline constexpr std::uint64_t kDefaultBytes = 64 << 20;  // of a file at most

/// The most bytes of a file by a user's text. Throws Error.
[[nodiscard]] std::uint64_t read_limit(std::string_view text);

/// The time, as records have it.
[[nodiscard]] std::int64_t now_ns();

/// The header of this process's file, which begins now. `library`: with its version.
[[nodiscard]] Header header_of(std::int32_t rank, std::int32_t ranks, std::string_view host,
                               std::string_view library);

class File {
 public:
  /// Makes the rank's file, and its folder if that is not there. Returns null, and the reason in
  /// `why`, if that fails: an existing file is not touched.
  [[nodiscard]] static std::unique_ptr<File> make(const std::string& folder, const Header& header,
                                                  std::string& why);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// True if there is room for so many records.
  [[nodiscard]] bool has_room(std::uint64_t records);
  /// There must be room.
  template <class Record>
  void append(const Record& record) {
    static_assert(kFits<Record>);
    std::memcpy(at_ + sizeof(Header) + header().used * sizeof(Record), &record, sizeof record);
    // Others read the file meanwhile: the record first, then its number.
    std::atomic_ref(header().used).store(header().used + 1, std::memory_order_release);
  }
  /// The same for a message.
  [[nodiscard]] bool has_room_for_message() {
    return sizeof(Header) + header().used * sizeof(Message) < room_for_messages(limit_) &&
           has_room(1);
  }
  void drop() { ++header().dropped; }
  void set(const Status& status) {
    Status& own = header().status;
    const std::atomic_ref turn(own.turn);
    const std::uint32_t before = turn.load(std::memory_order_relaxed);
    turn.store(before + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    constexpr std::size_t kBehind = sizeof own.turn;
    std::memcpy(reinterpret_cast<char*>(&own) + kBehind,
                reinterpret_cast<const char*>(&status) + kBehind, sizeof own - kBehind);
    turn.store(before + 2, std::memory_order_release);
  }
  void look_at_messages() { header().messages = 1; }
  void lose_message() { ++header().messages_lost; }
  /// Of a communicator that the file describes.
  void lose_message(std::uint32_t order) {
    lose_message();
    const std::uint64_t after = std::uint64_t{order} + 1;
    if (header().first_lost == 0 || after < header().first_lost) header().first_lost = after;
  }
  [[nodiscard]] std::uint64_t messages_lost() { return header().messages_lost; }
  [[nodiscard]] std::uint64_t dropped() { return header().dropped; }
  /// Why the file did not grow: the error's code; 0: it has reached its limit.
  [[nodiscard]] int obstacle() const { return obstacle_; }
  /// The time at which the process has ended in order, if nothing follows; 0: it goes on.
  void set_end(std::int64_t time) { header().end = time; }
  /// Gives back what was not used; nothing is appended afterwards.
  void end(std::int64_t now);

 private:
  File(OwnDescriptor file, char* at, std::uint64_t limit)
      : file_(std::move(file)), at_(at), mapped_(limit), limit_(limit) {}
  /// The file is new.
  [[nodiscard]] static std::unique_ptr<File> fill(OwnDescriptor file, const Header& header,
                                                  std::string& why);
  [[nodiscard]] bool grow(std::uint64_t bytes);
  [[nodiscard]] Header& header() { return *reinterpret_cast<Header*>(at_); }

  OwnDescriptor file_;
  char* at_;
  std::uint64_t mapped_;  // bytes
  std::uint64_t limit_;
  std::uint64_t have_ = 0;  // bytes
  int obstacle_ = 0;
};

/// The numbers of a file's texts.
class Texts {
 public:
  /// The number of a text, which is written if it is new; 0, the empty text's, where there is no
  /// room. The first text must be the empty one.
  [[nodiscard]] std::uint32_t operator()(File& file, std::string_view words);

 private:
  /// Finds texts without making a string.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> known_;
};

inline constexpr std::size_t kMostTexts = 1 << 14;  // of a file

}  // namespace latecomer::trace
