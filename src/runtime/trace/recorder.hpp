// The trace file of this process: whether there is one, what it names, and the records that threads
// add.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/types.hpp"
#include "trace/trace_file.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer::trace {

/// The names of things and of places in the program, as a trace file has them: each is written
/// once, and records name it by its id.
class Names {
 public:
  explicit Names(File& file) : file_(file) { (void)id(""); }

  /// The id of a text; 0, the empty text's, where there is no room.
  std::uint32_t id(std::string_view words) { return texts_(file_, words); }
  /// That of the name of a place in the program.
  std::uint32_t site(const void* address);

 private:
  File& file_;
  Texts texts_;
  std::unordered_map<const void*, std::uint32_t> sites_;
  std::pair<const void*, std::uint32_t> last_site_{nullptr, 0};
};

}  // namespace latecomer::trace

namespace latecomer {

// Communicators as traces know them: by their members, and by how they were made.

struct CommState;

/// The members of a communicator, by their ranks of MPI_COMM_WORLD; -1 for others.
[[nodiscard]] std::vector<std::int32_t> members_of(MPI_Comm comm);

/// The name that all ranks have for it, whichever they use first; 0: it was made in a way that
/// gives none, so that ranks number those with the same members as they come to use them.
[[nodiscard]] std::uint64_t common_name(const CommState& state);

/// A hash of the members.
[[nodiscard]] std::uint64_t key_of(const std::vector<std::int32_t>& members);

}  // namespace latecomer

namespace latecomer::trace {

// The trace file of this process, if LATECOMER_TRACE names a folder.

/// The most bytes of a file, by LATECOMER_TRACE_BYTES; what cannot be read is reported.
[[nodiscard]] std::uint64_t limit_of_file();
/// After MPI_Init. Null: there is to be none, or it cannot be made, which is reported.
[[nodiscard]] std::unique_ptr<File> make_file();
/// Who says what is wrong with the file, in place of this process's stderr.
void report_to(void (*report)(const std::string& line));

/// Adds records to the trace file of this process; all threads may do so.
class Recorder {
 public:
  explicit Recorder(std::unique_ptr<File> file) : file_(std::move(file)), names_(*file_) {}

  /// Sets the communicator's id if it has none. Several threads may do so.
  void introduce(CommState& state);
  /// The id of a communicator for the last object that was made of this one.
  std::uint32_t introduce_made_of(CommState& state, std::string_view kind);

  /// A call is entered that is no collective. `where` the program called from.
  void enter(Status status, const void* where) {
    const std::lock_guard lock(guard_);
    if (ended_) return;
    status.site = names_.site(where);
    file_->set(status);
  }
  /// A collective is entered. Its name and place get their numbers.
  void enter(Call& record, std::string_view collective, const void* where) {
    const std::lock_guard lock(guard_);
    if (ended_) return;
    record.collective = names_.id(collective);
    record.site = names_.site(where);
    Status status;
    status.doing = Doing::collective;
    status.since = record.arrival;
    status.sequence = static_cast<std::int64_t>(record.sequence);
    status.communicator = record.communicator;
    status.name = record.collective;
    status.site = record.site;
    last_ = {status.communicator, status.sequence};
    file_->set(status);
  }
  /// It has ended, with no record that tells.
  void leave() {
    const std::lock_guard lock(guard_);
    if (!ended_) left(now_ns());
  }
  /// One that was entered has ended.
  void add(Call& record, std::string_view algorithm, std::string_view op) {
    const std::lock_guard lock(guard_);
    if (ended_) return;
    record.algorithm = names_.id(algorithm);
    record.op = names_.id(op);
    left(record.exit);
    if (has_room_or_drops(1)) file_->append(record);
  }
  /// Another call has completed one.
  void add(Call& record, std::string_view collective, const void* where,
           const Completion& completion) {
    const std::lock_guard lock(guard_);
    if (ended_) return;
    record.collective = names_.id(collective);
    record.algorithm = names_.id("native");
    record.site = names_.site(where);
    left(record.exit);
    if (!has_room_or_drops(2)) return;
    file_->append(record);
    file_->append(completion);
  }
  /// Clocks, and time outside of MPI: one that there is no room for is left out.
  template <class Record>
    requires(std::is_same_v<Record, Clock> || std::is_same_v<Record, Outside>)
  void add(const Record& record) {
    const std::lock_guard lock(guard_);
    if (!ended_ && file_->has_room(1)) file_->append(record);
  }
  /// A message, whose end is that of the call.
  void add(Message& record, const void* where) {
    const std::lock_guard lock(guard_);
    if (ended_) return;
    record.site = names_.site(where);
    left(record.end);
    record.what == What::probe ? append_or_lose(record) : append_or_lose(record, record.order);
  }
  /// Calls that have no record of their own. `order`: the number of the next message.
  void add(const Other& record, std::uint32_t order) {
    const std::lock_guard lock(guard_);
    if (!ended_) append_or_lose(record, order);
  }
  /// From now on messages are traced.
  void look_at_messages() {
    const std::lock_guard lock(guard_);
    file_->look_at_messages();
  }
  /// A message cannot be recorded. `order`: on a communicator that the file describes, its number
  /// or that of an earlier one.
  template <class... Order>
  void lose_message(Order... order) {
    const std::lock_guard lock(guard_);
    if (!ended_) file_->lose_message(order...);
  }
  void end();

 private:
  /// The process is in no call that may wait, since then.
  void left(std::int64_t end) {
    Status status;
    status.since = end;
    status.communicator = last_.communicator;
    status.sequence = last_.sequence;
    file_->set(status);
  }
  template <class Record, class... Order>
  void append_or_lose(const Record& record, Order... order) {
    if (file_->has_room_for_message()) return file_->append(record);
    file_->lose_message(order...);
    full_of_messages_ = true;
  }
  bool has_room_or_drops(std::uint64_t records) {
    if (file_->has_room(records)) return true;
    file_->drop();
    return false;
  }
  std::uint32_t add(CommState& state);
  std::uint32_t add(Communicator& record, const std::vector<std::int32_t>& members);

  std::mutex guard_;
  std::unique_ptr<File> file_;
  bool ended_ = false;
  bool full_of_messages_ = false;
  struct {
    std::uint32_t communicator = 0;
    std::int64_t sequence = -1;
  } last_;  // the last collective that was entered
  std::uint32_t communicators_ = 0;
  std::map<std::uint64_t, std::uint32_t> made_;  // communicators so far, by their key
  Names names_;
};

}  // namespace latecomer::trace
