// Code of the program that MPI calls for us: operators, error handlers, functions of attributes.
// Its exceptions are the program's, and pass through all our functions unchanged.
#pragma once

#include "transports/mpi/mpi.hpp"

namespace latecomer {

class UserCode {
 public:
  /// Runs an MPI function that may call such code: what leaves it by an exception is the program's.
  /// std::uncaught_exceptions() would not see those of a program with a C++ library of its own.
  template <class Function>
  static auto run(Function&& function) {
    struct Leaving {
      bool returned = false;
      ~Leaving() { threw_ = threw_ || !returned; }
    } leaving;
    const auto result = function();
    leaving.returned = true;
    return result;
  }

  /// True if the exception that this thread is handling came from such code.
  [[nodiscard]] static bool threw() { return threw_; }
  /// Resets threw(), before work whose exceptions are to be distinguished.
  static void forget() { threw_ = false; }

 private:
  static inline thread_local bool threw_ = false;
};

/// Calls the communicator's error handler. Returns the code.
inline int raise_error(MPI_Comm comm, int code) {
  UserCode::run([&] { return PMPI_Comm_call_errhandler(comm, code); });
  return code;
}

/// MPI refused an argument and has called the error handler.
struct RefusedByMpi {
  int code;
};

}  // namespace latecomer
