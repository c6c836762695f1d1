// Programs for tests that end a job or look at its end, each with its own MPI_Init: the tests start
// them (tests/python). They return an exit code.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <cstdlib>

namespace scenes {

/// Calls on several communicators, for the report of them at the end.
int stats(int argc, char** argv);
/// The progress thread has ended when MPI_Finalize deletes the attributes of MPI_COMM_SELF.
int finalize(int argc, char** argv);
/// Several threads call at the same time, each on communicators of its own.
int threads(int argc, char** argv);
/// Calls before MPI_Init and after MPI_Finalize; "collective": a collective before MPI_Init.
int outside(int argc, char** argv);
/// Calls in a program without MPI_Init; returns 4 where the MPI library knows no sessions.
int sessions(int argc, char** argv);
/// A rank is killed or stopped.
int trouble(int argc, char** argv);
/// The last rank gives a call another count than the others, and all ranks end after the error.
int disagreement(int argc, char** argv);

/// A condition that the scene rests on.
inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "scene: not true: %s\n", what);
  std::_Exit(3);
}

}  // namespace scenes
