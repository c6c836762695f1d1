// Letters between the progress threads of a communicator: asking for the plan of a call, announcing
// it, reporting when a rank will arrive. They are counted, so that none is left under way when the
// communicator goes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/background/codes.hpp"
#include "transports/mpi/mailbox.hpp"

namespace latecomer {

struct Letter {
  enum class Kind : std::uint64_t {
    ask,     // for the plan of a call that the sender has entered
    plan,    // it, in its text form
    native,  // the call is the MPI library's; the text says why, if that was not the choice
    report,  // when the sender will arrive
  };

  Kind kind = Kind::ask;
  std::uint64_t call = 0;
  Description what{};
  Seconds arrival = 0;  // of a report, on the common clock
  double weight = 0;    // of a report: the part of the computation that it rests on; of a plan or
                        // a native call: whether ranks tell of it afterwards, 1 or 0
  std::string text;
};

struct Delivered {
  Rank from = -1;
  Letter letter;
};

/// One thread at a time.
class Post {
 public:
  /// The communicator outlives the post.
  explicit Post(MPI_Comm comm);

  void send(Rank to, const Letter& letter);
  /// The next letter that has come; nothing else is waited for. One that cannot be read is dropped.
  std::optional<Delivered> receive();
  /// MPI's code of the first failure.
  [[nodiscard]] int error() const { return error_ != MPI_SUCCESS ? error_ : mailbox_.error(); }

  /// Collective over the communicator, when this rank sends no more: ranks tell each other how many
  /// letters they sent.
  void begin_drain();
  /// Throws away what comes. True: nothing is under way any more, or MPI failed.
  bool drained();

 private:
  void note(int code);

  MPI_Comm comm_;
  int error_ = MPI_SUCCESS;
  std::vector<std::uint64_t> sent_;  // letters, by receiver
  std::uint64_t received_ = 0;
  std::uint64_t expected_ = 0;  // letters to this rank in all, known when counted_ is done
  MPI_Request counted_ = MPI_REQUEST_NULL;
  Mailbox mailbox_;
};

/// Collective over each post's communicator, whatever their order.
void drain(const std::vector<Post*>& posts);

}  // namespace latecomer
