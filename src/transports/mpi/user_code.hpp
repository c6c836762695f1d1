// Code of the program that MPI calls for us: operators, error handlers, functions of attributes.
// Its exceptions are the program's, and pass through all our functions unchanged.
#pragma once

#include <exception>

#include "transports/mpi/mpi.hpp"

namespace latecomer {

/// A guard around an MPI function that may call such code.
class UserCode {
 public:
  UserCode() : exceptions_(std::uncaught_exceptions()) {}
  ~UserCode() {
    if (std::uncaught_exceptions() > exceptions_) threw_ = true;
  }
  UserCode(const UserCode&) = delete;
  UserCode& operator=(const UserCode&) = delete;

  /// True if the exception that this thread is handling came from such code.
  [[nodiscard]] static bool threw() { return threw_; }
  /// Resets threw(), before work whose exceptions are to be distinguished.
  static void forget() { threw_ = false; }

 private:
  int exceptions_;
  static inline thread_local bool threw_ = false;
};

/// Calls the communicator's error handler. Returns the code.
inline int raise_error(MPI_Comm comm, int code) {
  const UserCode called;
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

/// MPI refused an argument and has called the error handler.
struct RefusedByMpi {
  int code;
};

}  // namespace latecomer
