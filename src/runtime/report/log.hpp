// What the library says on stderr: one write a message.
#pragma once

#include <string>

#include "base/types.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

/// Printable.
void log_line(const std::string& text);
/// Several lines, as they are.
void log_text(const std::string& text);

/// One line in which nothing acts on a terminal: names and values come from the program and from
/// outside.
[[nodiscard]] std::string printable(std::string text);

/// "rank 3 of 'MPI_COMM_WORLD' (16 ranks)".
[[nodiscard]] std::string describe(MPI_Comm comm);

}  // namespace latecomer
