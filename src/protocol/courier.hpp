// Words that travel along with the messages of a call, at no message's cost.
#pragma once

#include <cstddef>
#include <vector>

namespace latecomer {

class Courier {
 public:
  /// Transports make room for as much.
  static constexpr std::size_t kMostBytesPerRank = 20;

  virtual ~Courier() = default;

  /// Appends what goes along with a message that leaves now; at most kMostBytesPerRank for each
  /// rank of the communicator.
  virtual void pack(std::vector<char>& to) = 0;
  /// What came along, before the message's completion is told. Words that cannot be read are left
  /// alone.
  virtual void unpack(const char* words, std::size_t bytes) = 0;
};

}  // namespace latecomer
