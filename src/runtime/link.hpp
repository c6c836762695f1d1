// What a communicator needs once latecomer handles a call on it.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "runtime/clocks/clocks.hpp"
#include "runtime/control.hpp"
#include "runtime/crowd.hpp"
#include "runtime/internal_comm.hpp"
#include "transports/mpi/transport.hpp"

namespace latecomer {

inline std::uint64_t number_of_link(MPI_Comm comm) {
  static std::atomic<std::uint64_t> made{0};
  std::uint64_t number = ++made;
  PMPI_Bcast(&number, 1, MPI_UINT64_T, 0, comm);
  return number;
}

struct Link {
  /// Collective.
  Link(std::unique_ptr<InternalComm> internal, Count piece_limit)
      : comm(std::move(internal)),
        crowded(ranks_outnumber_cores(comm->get())),
        clocks(clock_groups(comm->get())),
        control(comm->get()),
        transport(comm->get(), piece_limit),
        number(number_of_link(comm->get())) {}
  /// Where a message may be under way that nobody will receive, the communicator is kept: another
  /// one of its context would receive it.
  ~Link() {
    control.read();
    if (control.used() || transport.words_used()) comm->keep();
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  std::unique_ptr<InternalComm> comm;
  bool crowded;  // ranks share cores
  Clocks clocks;
  Control control;
  Scratch scratch;
  MpiTransport transport;
  std::uint64_t number;     // the same on all ranks, and no other link's of theirs
  std::uint64_t calls = 0;  // begun so far
};

}  // namespace latecomer
