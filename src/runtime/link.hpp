// What a communicator needs once latecomer handles a call on it.
#pragma once

#include <memory>
#include <utility>

#include "runtime/clocks/clocks.hpp"
#include "runtime/control.hpp"
#include "runtime/crowd.hpp"
#include "runtime/internal_comm.hpp"
#include "transports/mpi/transport.hpp"

namespace latecomer {

struct Link {
  /// Collective.
  Link(std::unique_ptr<InternalComm> internal, Count piece_limit)
      : comm(std::move(internal)),
        crowded(ranks_outnumber_cores(comm->get())),
        clocks(clock_groups(comm->get())),
        control(comm->get()),
        transport(comm->get(), piece_limit) {}

  std::unique_ptr<InternalComm> comm;
  bool crowded;  // ranks share cores
  Clocks clocks;
  Control control;
  Scratch scratch;
  MpiTransport transport;
  std::uint64_t calls = 0;  // begun so far
};

}  // namespace latecomer
