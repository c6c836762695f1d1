// What a communicator needs once latecomer handles a call on it.
#pragma once

#include "runtime/control.hpp"
#include "runtime/internal_comm.hpp"
#include "transports/mpi/transport.hpp"

namespace latecomer {

struct Link {
  /// Collective over `user`. Check comm.get().
  Link(MPI_Comm user, Count piece_limit)
      : comm(user), control(comm.get()), transport(comm.get(), piece_limit) {}

  InternalComm comm;
  Control control;
  Scratch scratch;
  MpiTransport transport;
  std::uint64_t calls = 0;  // begun so far
};

}  // namespace latecomer
