// What a communicator needs once latecomer handles a call on it.
#pragma once

#include <unistd.h>

#include <memory>
#include <utility>

#include "runtime/clocks/clocks.hpp"
#include "runtime/control.hpp"
#include "runtime/internal_comm.hpp"
#include "runtime/introduction.hpp"
#include "transports/mpi/transport.hpp"

namespace latecomer {

struct Link {
  Link(std::unique_ptr<InternalComm> internal, const Introductions& all, Rank me, Count piece_limit)
      : comm(std::move(internal)),
        introduced(settings_of(all)),
        crowded(ranks_outnumber_cores(all, me, sysconf(_SC_NPROCESSORS_ONLN))),
        clocks(group_clocks(clocks_of(all), me)),
        control(comm->get()),
        transport(comm->get(), piece_limit) {}
  ~Link() { abandon(); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// A call on the link is over: other calls may use its scratch.
  void end_call() { scratch.release(); }
  /// It failed, or will not be carried through.
  void abandon() {
    if (!transport.abandon()) scratch.abandon();  // MPI may still use it
    end_call();
  }

  std::unique_ptr<InternalComm> comm;
  SettingHashes introduced;  // as they were when the link was made
  bool crowded;              // ranks share cores
  Clocks clocks;
  Control control;
  Scratch scratch;
  MpiTransport transport;
  std::uint64_t calls = 0;  // begun so far
};

}  // namespace latecomer
