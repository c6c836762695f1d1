// MPI_Finalize in a program with a progress thread. MPICH has switched its locks off when it
// deletes the attributes of MPI_COMM_SELF, so the thread must have ended by then.
#include <dirent.h>

#include <fstream>
#include <string>

#include "latecomer/latecomer_mpi.h"
#include "scenes.hpp"

namespace scenes {
namespace {

int progress_threads() {
  int found = 0;
  DIR* const folder = opendir("/proc/self/task");
  while (const dirent* const entry = readdir(folder)) {
    std::ifstream file("/proc/self/task/" + std::string(entry->d_name) + "/comm");
    std::string name;
    found += std::getline(file, name) && name == "latecomer" ? 1 : 0;
  }
  closedir(folder);
  return found;
}

int at_the_end(MPI_Comm, int, void*, void*) {
  require(progress_threads() == 0, "the progress thread has ended");
  return MPI_SUCCESS;
}

}  // namespace

int finalize(int, char**) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
  require(provided == MPI_THREAD_MULTIPLE, "the MPI library serves several threads");
  require(latecomer_set_algorithm(MPI_COMM_WORLD, "allreduce", "ring") == MPI_SUCCESS, "a name");
  const int mine = 1;
  int result = 0;
  latecomer_allreduce(&mine, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  require(progress_threads() == 1, "a progress thread");
  // The last attribute is deleted first: before the one by which latecomer learns of the end.
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, &keyval, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
  return MPI_Finalize();
}

}  // namespace scenes
