// Where a rank keeps the vector that it receives part by part and hands on, and the program that
// follows from a list of transfers.
#pragma once

#include "algorithms/transfers/transfers.hpp"
#include "schedule/builder.hpp"

namespace latecomer::transfers {

/// For collectives after which the rank has the whole vector: the parts lie in its output, or, with
/// background progress, in scratch until it arrives, since they may come before.
class Store {
 public:
  Store(const Plan& plan, Builder& builder);

  /// Own data go to the output.
  void keep_own();
  /// And to where received parts lie: messages may hold them together with such.
  void join_own();
  void send(const Transfer& transfer);
  void receive(Rank from, Range range);

 private:
  [[nodiscard]] Slice place(Range range);

  Builder& builder_;
  Count count_;
  Range own_;    // what this rank has before the call
  Slice early_;  // scratch for the whole vector, once it is needed
};

/// Writes this rank's share of the transfers. What it is to keep of its own it puts in its output
/// first, unless messages bring that too.
void build(const Transfers& transfers, const Plan& plan, Builder& builder);

/// The same as a function of a row with such transfers.
template <Transfers (*transfers_of)(const Plan& plan, Rank me)>
void build_of(const Plan& plan, Builder& builder) {
  build(transfers_of(plan, builder.me()), plan, builder);
}

}  // namespace latecomer::transfers
