// While one of these lives, errors of MPI functions that take no communicator are returned, too:
// MPICH raises those of MPI_Testsome on MPI_COMM_SELF, where they are fatal unless told otherwise.
#pragma once

namespace latecomer {

class ReturnedErrors {
 public:
  ReturnedErrors();
  ~ReturnedErrors();
  ReturnedErrors(const ReturnedErrors&) = delete;
  ReturnedErrors& operator=(const ReturnedErrors&) = delete;
};

}  // namespace latecomer
