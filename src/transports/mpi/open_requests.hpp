// Tests requests so that errors go to their communicator. Which MPI function does that depends on
// the library.
#pragma once

#include <cstddef>
#include <vector>

#include "transports/mpi/mpi.hpp"

namespace latecomer {

/// The requests of one poll. Its memory is kept from poll to poll.
class OpenRequests {
 public:
  struct Ended {
    std::size_t index;  // in the order in which requests were added
    int code;
    MPI_Status status;
  };

  void clear() { requests_.clear(); }
  void add(MPI_Request request) { requests_.push_back(request); }
  /// Returns the requests that ended; they are no longer valid.
  const std::vector<Ended>& test();

 private:
  std::vector<MPI_Request> requests_;
  std::vector<Ended> ended_;
#ifdef OPEN_MPI
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
#endif
};

}  // namespace latecomer
