#include "team.hpp"

#include <algorithm>
#include <set>

#include "../clock.hpp"
#include "../mpi.hpp"
#include "../surroundings.hpp"
#include "../usage_error.hpp"

namespace bench {
namespace {

constexpr double kNap = 1e-3;  // seconds between two looks

MPI_Comm split(int color) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, color, rank(), &comm);
  return comm;
}

void free_if_made(MPI_Comm& comm) {
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
}

}  // namespace

Team::Team() : hosts_(bench::hosts()) {
  if (ranks() < 2) throw UsageError("ranks: '1' is not usable; right would be 2 or more");
  const auto first =
      std::find(hosts_.begin(), hosts_.end(), hosts_[static_cast<std::size_t>(rank())]);
  const int leader = static_cast<int>(first - hosts_.begin());
  const auto distinct = static_cast<int>(std::set(hosts_.begin(), hosts_.end()).size());
  const bool member = distinct == 1 || leader == rank();
  size_ = distinct == 1 ? ranks() : distinct;
  shared_ = distinct > 1 && distinct < ranks();
  members_ = split(member ? 0 : MPI_UNDEFINED);
  host_ = split(shared_ ? leader : MPI_UNDEFINED);
}

Team::~Team() {
  free_if_made(members_);
  free_if_made(host_);
}

int Team::place() const {
  int number = -1;
  if (members_ != MPI_COMM_NULL) MPI_Comm_rank(members_, &number);
  return number;
}

void Team::meet() const {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) sleep_until(now() + kNap);
  }
}

}  // namespace bench
