// The common part of the programs that the verbs start: options, their errors, and MPI's ends.
#pragma once

#include <mpi.h>

#include <cstdio>

#include "mpi.hpp"
#include "usage_error.hpp"

namespace bench {

/// Runs a program on its options and returns its exit code: 2 where they are not usable.
template <class Parse, class Run>
int start(const char* name, const char* usage, Parse parse, Run run) try {
  auto options = parse();
  if (options.help) {
    if (rank() == 0) std::fputs(usage, stdout);
    return 0;
  }
  run(options);
  return 0;
} catch (const UsageError& error) {
  if (rank() == 0) std::fprintf(stderr, "%s: %s\n", name, error.what());
  return 2;
}

}  // namespace bench
