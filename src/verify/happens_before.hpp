// The order of operations of different ranks: dependencies, messages, and flags.
//
// An operation begins after what it depends on; a receive ends after all that its send waited for;
// an await ends when all signals and accumulates on its flag are done (rule flags). The end of a
// receive does not say that the send has ended: only the sender knows when it may write what it
// sent. Likewise a receive may write its target as soon as what it depends on is done, although the
// message comes later.
#pragma once

#include <optional>
#include <vector>

#include "verify/execution.hpp"
#include "verify/messages.hpp"

namespace latecomer::verifier {

class HappensBefore {
 public:
  /// The execution must be complete. All arguments must outlive the object.
  HappensBefore(Programs programs, const Messages& messages, const Flags& flags,
                const Execution& execution);

  /// The first of the `earlier` operations of other ranks that need not have ended when `later`
  /// begins; operations of its own rank are passed over. One search back, not beyond the earliest
  /// that is asked for.
  [[nodiscard]] std::optional<Step> first_unordered(const std::vector<Step>& earlier, Step later);

  [[nodiscard]] const Flags& flags() const { return flags_; }

 private:
  [[nodiscard]] std::size_t number(Step at) const {
    return first_[static_cast<std::size_t>(at.rank)] + at.index;
  }
  void reach(Step at);
  void reach_dependencies(Step at);
  void reach_other_ranks(Step at);

  Programs programs_;
  const Messages& messages_;
  const Flags& flags_;
  std::vector<std::size_t> first_;       // the number of each rank's first operation
  std::vector<std::uint32_t> position_;  // in the execution, per operation
  // The last search that passed an operation or a flag, or looked for it.
  std::vector<std::uint32_t> seen_by_;
  std::vector<std::uint32_t> flag_seen_by_;
  std::vector<std::uint32_t> wanted_by_;
  std::uint32_t search_ = 0;
  std::uint32_t lowest_ = 0;
  std::size_t missing_ = 0;
  std::vector<Step> open_;
};

// Rule race: two ranks of a node that touch the same element of its buffer, one of them writing, do
// so in an order that the programs enforce. Accumulates on one flag need none among themselves.

[[nodiscard]] Finding check_races(Programs programs, const Messages& messages,
                                  const Execution& execution, HappensBefore& order);

}  // namespace latecomer::verifier
