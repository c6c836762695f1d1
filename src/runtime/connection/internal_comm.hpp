// Messages of ours between the ranks of a communicator use an MPI communicator beside the
// program's, or a part of the one that a drop-in library has.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "agreement/slots.hpp"
#include "transports/mpi/link.hpp"

namespace latecomer {

class InternalComm {
 public:
  /// Makes an MPI communicator; collective over `user`. Returns MPI's code and calls no error
  /// handler; `made` is null unless the code is MPI_SUCCESS.
  static int make(MPI_Comm user, std::unique_ptr<InternalComm>& made);
  /// A part of another one.
  explicit InternalComm(Link link) : InternalComm(std::move(link), false) {}
  ~InternalComm();
  InternalComm(const InternalComm&) = delete;
  InternalComm& operator=(const InternalComm&) = delete;

  [[nodiscard]] const Link& link() const { return link_; }
  /// The number of these in the process, kept MPI communicators included.
  [[nodiscard]] static int living() { return living_; }
  /// Keeps the MPI communicator unfreed: messages that no rank will receive may be under way, so
  /// its context must not be used again. A link has tags that no other one gets.
  void keep() { keep_ = true; }

 private:
  InternalComm(Link link, bool whole) : link_(std::move(link)), whole_(whole) { ++living_; }

  static inline std::atomic<int> living_{0};

  Link link_;
  bool whole_;  // the MPI communicator is its own
  bool keep_ = false;
};

}  // namespace latecomer

namespace latecomer::shared_comm {

// The MPI communicator that all links of a drop-in library share: all ranks of MPI_COMM_WORLD, made
// once, in MPI_Init. A link is some of its ranks and a range of its tags (a slot), so that linking
// ranks makes no communicator: some MPI libraries do not survive it where other threads make some,
// and the program's are never used.

/// Collective over MPI_COMM_WORLD. Returns MPI's code.
[[nodiscard]] int make();
/// True if it was made.
[[nodiscard]] bool exists();
/// All its ranks, with the tags of messages that are no link's.
[[nodiscard]] const Link& link();

// As those of Slots, by any thread; take() only if the communicator has tags for such a slot.
[[nodiscard]] Slot propose(Slot above);
[[nodiscard]] bool take(Slot slot);
void give_back(Slot slot);
/// The link of these ranks by a slot that all of them took.
[[nodiscard]] Link link_of(Slot slot, std::shared_ptr<const Members> members, Rank me);

}  // namespace latecomer::shared_comm
