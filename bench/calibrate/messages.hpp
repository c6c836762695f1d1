// The times of messages in the patterns of collectives. All functions are collective over the ranks
// that they name, and return seconds for one message.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace bench {

enum class First { send, receive };

class Messages {
 public:
  explicit Messages(std::int64_t largest)
      : out_(static_cast<std::size_t>(largest)), in_(static_cast<std::size_t>(largest)) {}

  /// Messages between two ranks, back and forth, again and again. `first` begins.
  double pair(MPI_Comm comm, int peer, bool first, std::int64_t bytes);

  /// The same, each time after a pause in which links and cores are idle, as they are for the first
  /// message of a collective. The median of so many trips.
  double rested(MPI_Comm comm, int peer, bool first, std::int64_t bytes, int trips);

  /// Every rank sends to the next one and receives from the one before, step after step.
  double ring(MPI_Comm comm, std::int64_t bytes);

  /// Pairs of ranks send each other a message, at distance 1, 2, 4, ..., step after step. For a
  /// power of two of ranks. For long messages it matters which operation a rank posts first: an
  /// answer to the other's request must not queue up behind the rank's own data.
  double exchange(MPI_Comm comm, std::int64_t bytes, First first);

  /// True if a send ends although the receive is not posted.
  bool ends_unreceived(MPI_Comm comm, int peer, bool first, std::int64_t bytes);

  /// `first` sends so many messages at once, after a pause, to the other, which receives them.
  /// Returns on both the part of the time until the other's answer after which all sends are over.
  double part_sending(MPI_Comm comm, int peer, bool first, std::int64_t bytes, int count);

 private:
  void round_trip(MPI_Comm comm, int peer, bool first, std::int64_t bytes);
  void step(MPI_Comm comm, int to, int from, std::int64_t bytes, First first);

  std::vector<char> out_, in_;
};

/// The largest power of two up to `number`.
[[nodiscard]] int power_below(int number);

}  // namespace bench
