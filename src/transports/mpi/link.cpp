#include "transports/mpi/link.hpp"

#include <algorithm>
#include <climits>
#include <numeric>

namespace latecomer {

Members::Members(std::vector<int> places) : places_(std::move(places)), ascending_(places_.size()) {
  std::iota(ascending_.begin(), ascending_.end(), 0);
  std::sort(ascending_.begin(), ascending_.end(),
            [this](Rank a, Rank b) { return place(a) < place(b); });
}

Rank Members::at(int place) const {
  return *std::lower_bound(ascending_.begin(), ascending_.end(), place,
                           [this](Rank rank, int sought) { return this->place(rank) < sought; });
}

Link::Link(MPI_Comm comm) : comm_(comm), tags_(tags_of(comm)) {
  PMPI_Comm_size(comm, &ranks_);
  PMPI_Comm_rank(comm, &me_);
}

/// Open MPI 4.1 has the attribute for MPI_COMM_WORLD only, which programs with sessions lack.
int tags_of(MPI_Comm comm) {
  constexpr int kLeast = 32767;  // the largest tag that MPI guarantees
  int* largest = nullptr;
  int found = 0;
  PMPI_Comm_get_attr(comm, MPI_TAG_UB, static_cast<void*>(&largest), &found);
  int has_world = 0;
  if (found == 0) PMPI_Initialized(&has_world);
  if (has_world != 0) {
    PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&largest), &found);
  }
  return std::min(found != 0 ? *largest : kLeast, INT_MAX - 1) + 1;
}

}  // namespace latecomer
