// Code of the program that MPI calls for us: operators, error handlers, functions of attributes.
// Its exceptions are the program's, and pass through all our functions unchanged.
#pragma once

#include <array>

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

/// While one of these lives, errors of MPI functions that take no communicator, or a wrong one, are
/// returned: MPI libraries raise them on MPI_COMM_WORLD or on MPI_COMM_SELF. Programs with MPI
/// sessions only have neither, and nothing is done there.
class ReturnedErrorsEverywhere {
 public:
  ReturnedErrorsEverywhere() {
    int begun = 0;
    PMPI_Initialized(&begun);
    for (std::size_t i = 0; i < before_.size() && begun != 0; ++i) {
      PMPI_Comm_get_errhandler(comm(i), &before_[i]);
      PMPI_Comm_set_errhandler(comm(i), MPI_ERRORS_RETURN);
    }
  }
  ~ReturnedErrorsEverywhere() {
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (before_[i] == MPI_ERRHANDLER_NULL) continue;
      PMPI_Comm_set_errhandler(comm(i), before_[i]);
      PMPI_Errhandler_free(&before_[i]);
    }
  }
  ReturnedErrorsEverywhere(const ReturnedErrorsEverywhere&) = delete;
  ReturnedErrorsEverywhere& operator=(const ReturnedErrorsEverywhere&) = delete;

 private:
  static MPI_Comm comm(std::size_t i) { return i == 0 ? MPI_COMM_WORLD : MPI_COMM_SELF; }

  std::array<MPI_Errhandler, 2> before_ = {MPI_ERRHANDLER_NULL, MPI_ERRHANDLER_NULL};
};

}  // namespace latecomer
