// The library's messages on stderr: each is one write.
#pragma once

#include <string>

#include "base/types.hpp"
#include "base/utf8.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

/// Writes one line, made printable.
void log_line(const std::string& text);
/// Writes several lines unchanged.
void log_text(const std::string& text);

/// "rank 3 of 'MPI_COMM_WORLD' (16 ranks)".
[[nodiscard]] std::string describe(MPI_Comm comm);

}  // namespace latecomer
