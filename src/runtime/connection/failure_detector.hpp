// Detects failed ranks and disagreement about plans, by small messages between the ranks of a
// communicator: "this is my plan, what is yours?" after a long wait, and "I failed". Ordinary calls
// send none.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "transports/mpi/mailbox.hpp"
#include "transports/mpi/tags.hpp"

namespace latecomer {

class FailureDetector {
 public:
  explicit FailureDetector(const Link& link)
      : link_(link), mailbox_(link, Tags::kFailures), last_notice_(std::make_unique<Notice>()) {}

  /// The part of a call that a rank is in; announcement: it waits for rank 0 to announce the plan.
  enum class Part : std::uint64_t { none, announcement, plan, exchange, review, left };

  /// From now on calls are another communicator's, of the same ranks, numbered on from these.
  void continue_after(std::uint64_t position, std::uint64_t calls);
  /// Notes that this rank enters a call and has no plan yet. `position`: among all calls of the
  /// communicator, native ones included; `call`: among those that latecomer handles.
  void enter_call(std::uint64_t position, std::uint64_t call);
  /// Notes that this rank follows a plan with this hash; `part`: plan, or the arrival exchange
  /// after it.
  void enter_part(Part part, std::uint64_t plan_hash);
  /// Notes that this rank leaves a call to the MPI library because of its own arguments. Returns a
  /// text if another rank waits for it there, or in an earlier call that it left so. Failure
  /// notices stay unread: after a failure all ranks may go on with native calls.
  std::optional<std::string> leave_to_library(std::uint64_t position);

  /// Sends `peer` this rank's place, once in each part of a call.
  void ask(Rank peer);
  /// Notifies all other ranks that this one failed, except those that failed themselves: such a
  /// rank may have left MPI, and some MPI libraries wait forever for a connection to it.
  void announce_failure();
  /// Reads the messages that arrived. Returns a text if another rank failed, or if in one of the
  /// last calls it follows another plan or waits for an announcement that rank 0 does not make.
  std::optional<std::string> check();
  /// True if a message was sent or received: some may still be under way.
  [[nodiscard]] bool used() const { return mailbox_.used(); }

 private:
  static constexpr std::size_t kHistory = 16;

  enum Kind : std::uint64_t { kAsk, kFailed };
  struct Place {
    std::uint64_t position = 0;
    std::uint64_t call = 0;
    Part part = Part::none;
    std::uint64_t plan_hash = 0;  // 0: no plan yet
  };
  struct Notice {
    std::uint64_t kind;
    Place from;
  };
  struct Received {
    Rank from;
    Notice notice;
  };
  struct Noted {
    Place place;
    bool announced = false;  // the plan, by rank 0
  };

  void set_place(const Place& place);
  void send(Rank peer, Kind kind);
  void send_failure(Rank peer);
  void receive();
  [[nodiscard]] bool is_ahead(const Notice& notice) const;
  [[nodiscard]] bool is_earlier_communicators(const Notice& notice) const {
    return earlier_ > 0 && notice.from.position <= earlier_;
  }
  [[nodiscard]] std::optional<std::string> conflict_of(const Received& received) const;

  Link link_;
  Mailbox mailbox_;
  Place here_;
  bool announced_ = false;                 // the plan of this call, by rank 0
  std::array<Noted, kHistory> history_{};  // the last places with a plan, or left
  std::size_t noted_ = 0;                  // places noted ever
  std::vector<Received> unread_;
  std::vector<Rank> asked_;
  std::vector<Rank> failed_;             // ranks that announced it
  std::unique_ptr<Notice> last_notice_;  // of a failure, where there is no memory for another
  Notice* kept_notice_ = nullptr;        // the same, once it was sent
  // The last call of the communicator that had the resources before.
  std::uint64_t earlier_ = 0;
  std::uint64_t earlier_calls_ = 0;
};

}  // namespace latecomer
