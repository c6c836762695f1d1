#include "runtime/report/log.hpp"

#include <cstdio>

namespace latecomer {

void log_line(const std::string& text) { log_text("latecomer: " + printable(text) + "\n"); }

/// One write, so that lines of ranks that share a terminal do not mix.
void log_text(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

std::string describe(MPI_Comm comm) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  int rank = 0;
  int size = 0;
  PMPI_Comm_get_name(comm, name, &length);
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  std::string text = "rank " + std::to_string(rank) + " of ";
  text += length > 0 ? std::string("'").append(name).append("'") : "an unnamed communicator";
  return text.append(" (").append(std::to_string(size)).append(" ranks)");
}

}  // namespace latecomer
