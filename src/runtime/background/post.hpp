// Letters between the progress threads of a communicator: asking for the plan of a call, announcing
// it, reporting when a rank will arrive. They are counted, so that none is left under way when the
// communicator goes.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "runtime/background/codes.hpp"

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
  Seconds arrival = 0;  // of a report, on the common clock; of a plan or a native call its price
  double weight = 0;    // of a report: the part of the computation that it rests on; of a plan or
                        // a native call: whether ranks tell of it afterwards, 1 or 0
  std::uint32_t row = 0;  // of a plan or a native call: the registry row that was chosen
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
  ~Post();
  Post(const Post&) = delete;
  Post& operator=(const Post&) = delete;

  void send(Rank to, const Letter& letter);
  /// The next letter that has come; nothing else is waited for.
  std::optional<Delivered> receive();
  /// MPI's code of the first failure.
  [[nodiscard]] int error() const { return error_; }

  /// Collective over the communicator, when this rank sends no more: ranks tell each other how many
  /// letters they sent.
  void begin_drain();
  /// Throws away what comes. True: nothing is under way any more, or MPI failed.
  bool drained();

 private:
  struct Sent {
    std::vector<char> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void note(int code);
  void forget_sent();

  MPI_Comm comm_;
  int error_ = MPI_SUCCESS;
  std::vector<std::uint64_t> sent_;  // letters, by receiver
  std::uint64_t received_ = 0;
  std::uint64_t expected_ = 0;  // letters to this rank in all, known when counted_ is done
  MPI_Request counted_ = MPI_REQUEST_NULL;
  std::deque<Sent> leaving_;
};

/// Collective over each post's communicator, whatever their order.
void drain(const std::vector<Post*>& posts);

}  // namespace latecomer
