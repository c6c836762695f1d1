// The library's messages on stderr: each is one write, and none goes to a file of the program's.
#pragma once

#include <string>

#include "transports/mpi/mpi.hpp"

namespace latecomer {

/// Remembers which file stderr is now, and keeps a descriptor of it. Afterwards messages go there,
/// whatever file the program gives number 2.
void keep_stderr();

/// Writes one line, made printable.
void log_line(const std::string& text);
/// Writes several lines unchanged.
void log_text(const std::string& text);

/// "rank 3 of 'MPI_COMM_WORLD' (16 ranks)".
[[nodiscard]] std::string describe(MPI_Comm comm);

}  // namespace latecomer
