// The names of the hosts on which a communicator's ranks run, for messages.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/connection/introduction.hpp"

namespace latecomer {

class Hosts {
 public:
  explicit Hosts(const Introductions& all);

  /// "; rank 1 is on host n3, rank 2 on host n4", of the first few of these ranks; "" for none.
  [[nodiscard]] std::string whereabouts(std::span<const Rank> ranks) const;
  /// The same, of the ranks that a message names: "rank 3".
  [[nodiscard]] std::string whereabouts(std::string_view message) const;

 private:
  std::vector<std::string> names_;      // of the hosts
  std::vector<std::uint32_t> indices_;  // into names_, by rank: four bytes each
};

}  // namespace latecomer
