// Data that travel along with the messages of a call (piggybacking), so that they cost no message
// of their own.
#pragma once

#include <cstddef>
#include <vector>

namespace latecomer {

class Piggyback {
 public:
  /// Transports reserve this much for each rank of the communicator.
  static constexpr std::size_t kMaxBytesPerRank = 20;

  virtual ~Piggyback() = default;

  /// Appends the data that travel with a message that is sent now: at most kMaxBytesPerRank for
  /// each rank of the communicator. In a call they begin with the data that travelled before.
  virtual void pack(std::vector<char>& to) = 0;
  /// Takes the data that a message carried, before the message's completion is delivered. Data
  /// that cannot be read are ignored.
  virtual void unpack(const char* data, std::size_t bytes) = 0;
};

}  // namespace latecomer
