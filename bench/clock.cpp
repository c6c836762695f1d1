#include "clock.hpp"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <ctime>
#include <fstream>
#include <string>

#include "mpi.hpp"

namespace bench {
namespace {

/// Empty where it cannot be told.
std::string clock_identity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  char name[256] = "";
  const ssize_t length = readlink("/proc/self/ns/time", name, sizeof name);
  if (length > 0) boot.append(name, static_cast<std::size_t>(length));
  return boot;
}

}  // namespace

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void sleep_until(double time) {
  timespec end{};
  end.tv_sec = static_cast<time_t>(std::floor(time));
  end.tv_nsec = static_cast<long>((time - std::floor(time)) * 1e9);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr) == EINTR) {
  }
}

bool clock_is_common() {
  const std::string mine = clock_identity();
  const std::string first = broadcast(mine);
  int same = !mine.empty() && mine == first ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return same == 1;
}

}  // namespace bench
