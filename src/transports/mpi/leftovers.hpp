// Messages that may still come to links that are gone: protocols do not wait for the last ones.
// Nobody asks for them, but MPI libraries keep memory for each, so they are received a little
// later.
#pragma once

#include "transports/mpi/link.hpp"

namespace latecomer {

/// Receives, and throws away, what has come to links that went before; from now on also what comes
/// to this one, whose communicator is never freed and whose tags are not used again. Waits for
/// nothing.
void receive_leftovers_of(const Link& link);

}  // namespace latecomer
