// The progress thread: one of a process, for all its communicators. It moves what can move without
// the program's threads, and sleeps while nothing comes.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <thread>
#include <vector>

#include "runtime/progress/comm_lock.hpp"

namespace latecomer {

/// What the thread serves: one of a communicator.
class Served {
 public:
  virtual ~Served() = default;

  /// Does what there is to do, without waiting for anybody. False: nothing was.
  virtual bool serve() = 0;
};

class ProgressThread {
 public:
  /// The process's own. It lives until MPI_Finalize, and is not destroyed at exit.
  static ProgressThread& instance();

  /// The first one starts the thread. Throws std::system_error if there can be none.
  void add(Served& served);
  /// After this the thread does not touch it.
  void remove(const Served& served);
  /// Ends the thread for good.
  void stop();

 private:
  ProgressThread() = default;

  void start();
  void run();
  bool serve_all();

  CommLock lock_;
  std::vector<Served*> all_;
  std::atomic<unsigned> changes_{0};  // of all_, and the end: what a thread without work waits for
  std::atomic<bool> ending_{false};
  pid_t process_ = 0;  // that the thread was started in; 0: not yet
  std::thread thread_;
};

}  // namespace latecomer
