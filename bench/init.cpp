#include "init.hpp"

#include <mpi.h>

#include <cstdlib>
#include <string>

namespace bench {
namespace {

constexpr const char* kVariable = "LATECOMER_PROGRESS";

/// The value after the option; "" without it.
std::string value_of(const std::string& option, int argc, char** argv) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] == option) return argv[i + 1];
  }
  return "";
}

bool asks_for_thread() {
  const char* const text = std::getenv(kVariable);
  return text != nullptr && std::string(text) == "thread";
}

}  // namespace

void init_mpi(int* argc, char*** argv) {
  const std::string progress = value_of("--progress", *argc, *argv);
  if (progress == "none" || progress == "thread") setenv(kVariable, progress.c_str(), 1);
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(argc, argv, asks_for_thread() ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
}

}  // namespace bench
