// The vector of a rank that receives it part by part and sends parts on, and the program for a list
// of transfers.
#pragma once

#include "algorithms/transfers/transfers.hpp"
#include "schedule/builder.hpp"

namespace latecomer::transfers {

/// For collectives after which the rank has the whole vector: the parts lie in its output, or, with
/// background progress, in scratch, since they may be there before the rank arrives.
class Store {
 public:
  Store(const Plan& plan, Builder& builder);

  /// Copies own data to the output.
  void keep_own();
  /// Copies own data also beside the received parts: one message may hold both.
  void join_own();
  void send(const Transfer& transfer);
  void receive(Rank from, Range range);

 private:
  [[nodiscard]] Slice place(Range range);

  Builder& builder_;
  Count count_;
  Range own_;    // this rank's data before the call
  Slice early_;  // scratch for the whole vector, once it is needed
};

/// Writes this rank's share of the transfers. First it copies the rank's own data to its output, as
/// far as they belong there and no message brings them.
void build(const Transfers& transfers, const Plan& plan, Builder& builder);

/// The same as a row's function `build`, from the row's list of transfers.
template <Transfers (*transfers_of)(const Plan& plan, Rank me)>
void build_of(const Plan& plan, Builder& builder) {
  build(transfers_of(plan, builder.me()), plan, builder);
}

}  // namespace latecomer::transfers
