// What a communicator needs once latecomer handles a call on it.
#pragma once

#include <unistd.h>

#include <memory>
#include <utility>

#include "runtime/connection/clocks/clocks.hpp"
#include "runtime/connection/control.hpp"
#include "runtime/connection/internal_comm.hpp"
#include "runtime/connection/introduction.hpp"
#include "transports/mpi/transport.hpp"

namespace latecomer {

struct Link {
  Link(std::unique_ptr<InternalComm> internal, const Introductions& all, Rank me, Count piece_limit)
      : comm(std::move(internal)),
        introduced(settings_of(all)),
        crowded(ranks_outnumber_cores(all, me, sysconf(_SC_NPROCESSORS_ONLN))),
        clocks(group_clocks(clocks_of(all), me)),
        control(comm->get()),
        transport(comm->get(), piece_limit),
        number(all.front().link) {}
  /// Where a message may be under way that nobody will receive, the communicator is kept: another
  /// one of its context would receive it.
  ~Link() {
    control.read();
    if (control.used() || transport.words_used() || threads) comm->keep();
    abandon();
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// Another communicator's from now on, whose calls are numbered on from `position`.
  void go_on_after(std::uint64_t position) {
    earlier = calls;
    ++owner;
    control.go_on_after(position, calls);
  }
  /// A call on the link is over: other calls may use its memory.
  void end_call() {
    scratch.release();
    transport.end_call();
  }
  /// It failed, or will not be carried through.
  void abandon() {
    if (!transport.abandon()) scratch.abandon();  // MPI may still use it
    scratch.release();
  }

  std::unique_ptr<InternalComm> comm;
  SettingHashes introduced;  // as they were when the link was made
  bool crowded;              // ranks share cores
  Clocks clocks;
  Control control;
  Scratch scratch;
  MpiTransport transport;
  std::uint64_t number;       // the same on all ranks, and no other link's of theirs
  std::uint64_t calls = 0;    // begun so far
  std::uint64_t earlier = 0;  // of them, on communicators that were freed
  std::uint64_t owner = 1;    // which of its communicators has it, the same on all ranks
  bool threads = false;       // progress threads have sent letters
};

}  // namespace latecomer
