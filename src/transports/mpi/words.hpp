// Words that ranks tell each other in a call, who from is not known beforehand. A word may come
// when its receiver has left the call: it names its call, and a later one drops it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "transports/mpi/mailbox.hpp"
#include "transports/mpi/tags.hpp"

namespace latecomer {

class Words {
 public:
  explicit Words(MPI_Comm comm) : mailbox_(comm, Tags::kWords) {}

  struct Word {
    Rank from;
    std::uint64_t word;
  };
  /// Calls are begun one after another.
  void begin(std::uint64_t call);
  void tell(Rank to, std::uint64_t word);
  /// The next one of this call that is here; those of one sender in their order. Does not look at
  /// each question: MPI looks at all ranks for one word.
  [[nodiscard]] std::optional<Word> next();
  /// Whether words were told or asked for: some may be under way for good.
  [[nodiscard]] bool used() const { return used_; }
  /// MPI's code of the first thing that went wrong.
  [[nodiscard]] int error() const { return mailbox_.error(); }

 private:
  struct Letter {
    std::uint64_t call;
    std::uint64_t word;
  };
  struct Received {
    Rank from;
    Letter letter;
  };

  [[nodiscard]] std::optional<Word> next_kept();

  Mailbox mailbox_;
  std::uint64_t call_ = 0;
  bool used_ = false;
  int questions_left_ = 0;      // until the next look
  std::vector<Received> kept_;  // of calls to come
};

}  // namespace latecomer
