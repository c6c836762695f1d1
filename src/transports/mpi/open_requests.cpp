#include "transports/mpi/open_requests.hpp"

namespace latecomer {

#ifdef OPEN_MPI

/// Each function that finds nothing done gives the processor away where ranks share cores: once for
/// all requests, not once for each.
const std::vector<OpenRequests::Ended>& OpenRequests::test() {
  ended_.clear();
  indices_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int done = 0;
  const int code = PMPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &done,
                                 indices_.data(), statuses_.data());
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) {
    // Nothing can be said of single requests: the first one stands for all.
    ended_.push_back({0, code, {}});
    return ended_;
  }
  for (int i = 0; done != MPI_UNDEFINED && i < done; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const int its_code = code == MPI_SUCCESS ? MPI_SUCCESS : statuses_[at].MPI_ERROR;
    ended_.push_back({static_cast<std::size_t>(indices_[at]), its_code, statuses_[at]});
  }
  return ended_;
}

#else

/// One by one: in MPICH errors of MPI_Testsome go to the handler of MPI_COMM_SELF, which is the
/// program's.
const std::vector<OpenRequests::Ended>& OpenRequests::test() {
  ended_.clear();
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    int done = 0;
    MPI_Status status;
    const int code = PMPI_Test(&requests_[i], &done, &status);
    if (done != 0 || code != MPI_SUCCESS) ended_.push_back({i, code, status});
  }
  return ended_;
}

#endif

}  // namespace latecomer
