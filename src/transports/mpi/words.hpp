// Words that ranks tell each other in a call, who from is not known beforehand. A word may come
// when its receiver has left the call: it names its call, and a later one drops it. What is never
// asked for again is received before the communicator is given up, by counting.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <vector>

#include "base/types.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

class Words {
 public:
  explicit Words(MPI_Comm comm);
  ~Words();
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  struct Word {
    Rank from;
    std::uint64_t word;
  };
  /// Calls are begun one after another.
  void begin(std::uint64_t call) { call_ = call; }
  void tell(Rank to, std::uint64_t word);
  /// The next one of this call that is here; those of one sender in their order.
  [[nodiscard]] std::optional<Word> next();
  /// Collective, after the last call: receives what nobody has asked for. An MPI error code.
  int drain();
  /// Whether any word was told or heard: some may still be under way.
  [[nodiscard]] bool used() const { return used_; }
  /// MPI's code of the first thing that went wrong.
  [[nodiscard]] int error() const { return error_; }

 private:
  using Letter = std::array<std::uint64_t, 2>;  // the call, the word
  struct Sent {
    Letter letter;
    MPI_Request request;
  };
  struct Received {
    Rank from;
    Letter letter;
  };

  [[nodiscard]] std::optional<Received> receive();
  [[nodiscard]] std::optional<Word> next_kept();
  void forget_sent();
  void note(int code);

  MPI_Comm comm_;
  std::uint64_t call_ = 0;
  std::list<Sent> leaving_;          // their addresses stay
  std::deque<Received> kept_;        // of calls to come
  std::vector<std::uint64_t> sent_;  // to each rank, in all calls
  std::uint64_t received_ = 0;       // from all, in all calls
  bool used_ = false;
  int error_ = MPI_SUCCESS;
};

}  // namespace latecomer
