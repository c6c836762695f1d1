// The progress thread: a process has one for all its communicators. It makes progress on calls
// while the program's threads compute, and sleeps while no message arrives.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <thread>
#include <vector>

#include "runtime/progress/comm_lock.hpp"

namespace latecomer {

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

  /// Adds work; the first one starts the thread. Throws std::system_error if there can be none.
  void add(Progressable& progressable);
  /// Removes work: afterwards the thread does not touch it.
  void remove(const Progressable& progressable);
  /// Ends the thread for good.
  void stop();

 private:
  ProgressThread() = default;

  void start();
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

}  // namespace latecomer
