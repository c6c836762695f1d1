// One rank, prepared to take part in calls of one plan: by a program, or by a state machine that
// decides while it runs. Whoever carries out calls sees no difference.
#pragma once

#include <memory>
#include <vector>

#include "protocol/protocol.hpp"
#include "schedule/program.hpp"

namespace latecomer {

struct ProtocolOptions {
  std::uint32_t window = 64;           // requests in flight per peer and direction
  bool combine_before_arrival = true;  // false for user operators: they stay off the thread
};

class Party {
 public:
  virtual ~Party() = default;

  /// This rank's buffers.
  [[nodiscard]] virtual const Frame& frame() const = 0;
  /// Takes part in one call. The party and the transport must outlive the protocol.
  [[nodiscard]] virtual std::unique_ptr<Protocol> join(Transport& transport,
                                                       const ProtocolOptions& options) const = 0;
};

/// Of all ranks.
using Parties = std::vector<std::unique_ptr<Party>>;

}  // namespace latecomer
