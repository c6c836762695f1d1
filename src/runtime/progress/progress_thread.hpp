// The progress thread: whether a rank has one, what it does, and its end with MPI.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <thread>
#include <vector>

#include "runtime/connection/introduction.hpp"
#include "runtime/progress/comm_lock.hpp"

namespace latecomer {

// The progress mode of a rank. It has a progress thread if LATECOMER_PROGRESS asks for one and
// MPI_THREAD_MULTIPLE allows it. A communicator uses them if all its ranks have one.

/// The mode of this rank. A value of LATECOMER_PROGRESS that cannot be read asks for no thread,
/// which is reported once a job.
[[nodiscard]] ProgressMode progress_mode();

/// True if every rank has a progress thread. If only some have one, rank 0 reports that on stderr,
/// for the communicator `user`. If MPI_THREAD_MULTIPLE is missing on all ranks, that is reported
/// once a job.
[[nodiscard]] bool all_have_progress_threads(const Introductions& all, MPI_Comm user, Rank me);

// The progress thread: a process has one for all its communicators. It makes progress on calls
// while the program's threads compute, and sleeps while no message arrives.

/// The work of one communicator that the progress thread drives.
class Progressable {
 public:
  virtual ~Progressable() = default;

  /// Makes all progress that is possible without waiting. Returns false if there was none.
  virtual bool progress() = 0;
};

class ProgressThread {
 public:
  /// The process's thread. It lives until MPI_Finalize, and is not destroyed at exit.
  static ProgressThread& instance();

  /// Starts the thread, unless it was started. If there can be none, false, and it is reported.
  [[nodiscard]] bool start();
  /// Adds work to the thread, which was started.
  void add(Progressable& progressable);
  /// Removes work: afterwards the thread does not touch it.
  void remove(const Progressable& progressable);
  /// Ends the thread for good.
  void stop();

 private:
  ProgressThread() = default;

  void run();
  bool progress_all();

  CommLock lock_;
  std::vector<Progressable*> all_;
  std::atomic<unsigned> changes_{
      0};  // counts changes of all_, and the end: a thread without work waits for it
  std::atomic<bool> ending_{false};
  pid_t process_ = 0;  // that the thread was started in; 0: not yet
  std::thread thread_;
};

// The end of MPI: stops the progress thread, drops the resources that freed communicators left to
// later ones, and lets messages leave.

/// Makes MPI_Finalize do so, and then call each given `end`, in the order in which they came, once
/// each. May be called repeatedly. Returns false if MPI was initialized by sessions only.
bool end_with_mpi(void (*end)() = nullptr);
/// True from the begin of MPI_Finalize on, if end_with_mpi() was called.
[[nodiscard]] bool mpi_ends();

/// Ends the progress thread. To be called right before MPI_Finalize: MPICH switches its locks off
/// before it deletes the attributes of MPI_COMM_SELF, and a thread that is inside it then leaves a
/// lock taken, which ends the process (seen in MPICH 4.0 to 5.0: isThreaded in MPII_Finalize).
void prepare_finalize();

}  // namespace latecomer
