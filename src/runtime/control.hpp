// Small messages between the ranks of a communicator when something seems wrong: "this is my
// plan, what is yours?" after a long wait, and "I failed". In ordinary calls there are none.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "transports/mpi/mailbox.hpp"
#include "transports/mpi/tags.hpp"

namespace latecomer {

class Control {
 public:
  explicit Control(MPI_Comm comm) : comm_(comm), mailbox_(comm, Tags::kControl) {}

  /// Calls from now on are another communicator's, of the same ranks, numbered on from `calls`.
  void go_on_after(std::uint64_t calls) {
    earlier_ = calls;
    history_.clear();
  }
  /// This rank enters call number `call` with a plan of this hash.
  void enter(std::uint64_t call, std::uint64_t plan_hash);
  /// Tells `peer` the current call's plan hash, once a call.
  void ask(Rank peer);
  /// Tells all other ranks that this one failed.
  void alarm();
  /// Reads what came. A text: another rank failed, or follows another plan in one of the last
  /// calls.
  std::optional<std::string> read();
  /// Whether any message was sent or received: some may still be under way.
  [[nodiscard]] bool used() const { return mailbox_.used(); }

 private:
  enum Kind : std::uint64_t { kAsk, kAlarm };
  struct Letter {
    std::uint64_t kind;
    std::uint64_t call;
    std::uint64_t plan_hash;
  };
  struct Received {
    Rank from;
    Letter letter;
  };
  struct Entered {
    std::uint64_t call;
    std::uint64_t plan_hash;
  };

  /// The current call; before the first one the number before it.
  [[nodiscard]] Entered now() const {
    return history_.empty() ? Entered{earlier_, 0} : history_.back();
  }
  void send(Rank peer, Kind kind);
  void receive();
  [[nodiscard]] std::optional<std::string> judge(const Received& received) const;

  MPI_Comm comm_;
  Mailbox mailbox_;
  std::deque<Entered> history_;  // the last calls, newest at the back
  std::vector<Received> unread_;
  std::vector<Rank> asked_;
  std::uint64_t earlier_ = 0;  // calls of another communicator
};

}  // namespace latecomer
