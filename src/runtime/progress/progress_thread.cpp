#include "runtime/progress/progress_thread.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <system_error>

#include "base/error.hpp"
#include "runtime/connection/clocks/clocks.hpp"
#include "runtime/report/log.hpp"
#include "runtime/settings/environment.hpp"
#include "transports/mpi/backoff.hpp"
#include "transports/mpi/mailbox.hpp"
#include "transports/mpi/memory.hpp"

namespace latecomer {
namespace {

constexpr const char* kProgressVariable = "LATECOMER_PROGRESS";
constexpr const char* kThread = "LATECOMER_PROGRESS=thread";

bool read_mode(const std::string& text) {
  if (text != "none" && text != "thread") throw Error("progress", text, "none or thread");
  return text == "thread";
}

bool asked_for() try {
  return read_mode(environment(kProgressVariable).value_or("none"));
} catch (const Error& error) {
  report_unused(kProgressVariable, error.what());
  return false;
}

int thread_level() {
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  return level;
}

std::string name_of(int level) {
  if (level == MPI_THREAD_SINGLE) return "MPI_THREAD_SINGLE";
  return level == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED" : "MPI_THREAD_SERIALIZED";
}

void say_not_allowed() {
  const Error error("MPI's thread level", name_of(thread_level()),
                    "MPI_THREAD_MULTIPLE, from MPI_Init_thread");
  report_unused(kThread, error.what());
}

void say_some_only(MPI_Comm user, std::ptrdiff_t wish, std::ptrdiff_t ready, std::ptrdiff_t ranks) {
  log_line(describe(user) + ": no progress threads, since " + std::to_string(wish) + " of " +
           std::to_string(ranks) + " ranks want one, and " + std::to_string(ready) +
           " can have it; right would be " + kThread + " and MPI_THREAD_MULTIPLE on all of them");
}

/// Signals are for the program's own threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

ProgressMode progress_mode() {
  if (!asked_for()) return ProgressMode::none;
  const bool allowed = thread_level() == MPI_THREAD_MULTIPLE;
  return allowed ? ProgressMode::thread : ProgressMode::not_allowed;
}

bool all_have_progress_threads(const Introductions& all, MPI_Comm user, Rank me) {
  const auto number = [&](ProgressMode mode) {
    return std::count_if(all.begin(), all.end(),
                         [mode](const Introduction& one) { return one.progress == mode; });
  };
  const auto ranks = std::ssize(all);
  const auto ready = number(ProgressMode::thread);
  const auto not_allowed = number(ProgressMode::not_allowed);
  if (ready == ranks) return true;
  if (not_allowed == ranks) {
    if (thread_level() != MPI_THREAD_MULTIPLE) say_not_allowed();
  } else if (me == 0 && ready + not_allowed > 0) {
    say_some_only(user, ready + not_allowed, ready, ranks);
  }
  return false;
}

ProgressThread& ProgressThread::instance() {
  static auto* const made = new ProgressThread;  // the thread may outlive static objects
  return *made;
}

void ProgressThread::add(Progressable& progressable) {
  const std::lock_guard hold(lock_);
  all_.push_back(&progressable);
  ++changes_;
  changes_.notify_one();
}

void ProgressThread::remove(const Progressable& progressable) {
  const std::lock_guard hold(lock_);
  all_.erase(std::remove(all_.begin(), all_.end(), &progressable), all_.end());
}

void ProgressThread::stop() {
  ending_ = true;
  ++changes_;
  changes_.notify_one();
  const bool here = process_ == getpid();  // a child process has none
  if (here && thread_.joinable()) thread_.join();
}

bool ProgressThread::start() try {
  const std::lock_guard hold(lock_);
  if (process_ != 0) return true;
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "latecomer");
  process_ = getpid();
  return true;
} catch (const std::system_error& error) {
  report_unused(kThread, Error("thread", error.code().message(), "room for one more").what());
  return false;
}

void ProgressThread::run() {
  Backoff backoff(kThreadSleeps, Sleeping::on_shared_core);
  while (!ending_) {
    const unsigned seen = changes_;
    bool moved = false;
    bool empty = false;
    if (lock_.try_lock()) {
      empty = all_.empty();
      moved = progress_all();
      lock_.unlock();
    }
    if (empty) {
      changes_.wait(seen);
    } else {
      if (moved) backoff.progressed();
      backoff.pause(monotonic_clock());
    }
  }
}

bool ProgressThread::progress_all() {
  bool moved = false;
  for (Progressable* const progressable : all_) moved = progressable->progress() || moved;
  return moved;
}

namespace {

using End = void (*)();

std::atomic<bool> ending{false};
std::mutex guard;
std::vector<End>& ends() {
  static auto& made = *new std::vector<End>;  // MPI may end after static objects
  return made;
}

/// The end of this number; null: there are no more. An end may add others.
End ended(std::size_t number) {
  const std::lock_guard hold(guard);
  return number < ends().size() ? ends()[number] : nullptr;
}

/// MPI_Finalize deletes the attributes of MPI_COMM_SELF before anything else, the last one first.
/// In functions of the program's, whose attributes came after this one, it still uses MPI.
int finalizing(MPI_Comm, int, void*, void*) {
  constexpr Seconds kAtMost = 0.1;
  ending = true;
  prepare_finalize();  // where MPI_Finalize was called by code that goes past ours
  for (std::size_t i = 0; const End end = ended(i); ++i) end();
  (void)Mailbox::finish(kAtMost);
  Scratch::free_unused();
  Staging::free_unused();
  return MPI_SUCCESS;
}

void attach_to_self() {
  int keyval = MPI_KEYVAL_INVALID;
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finalizing, &keyval, nullptr);
  PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
  PMPI_Comm_free_keyval(&keyval);  // goes with the attribute
}

}  // namespace

bool mpi_ends() { return ending; }

void prepare_finalize() { ProgressThread::instance().stop(); }

bool end_with_mpi(void (*end)()) {
  int initialized = 0;  // not with sessions alone: then there is no MPI_COMM_SELF
  PMPI_Initialized(&initialized);
  if (initialized == 0) return false;
  static std::once_flag once;
  std::call_once(once, attach_to_self);
  if (end == nullptr) return true;
  const std::lock_guard hold(guard);
  if (std::ranges::find(ends(), end) == ends().end()) ends().push_back(end);
  return true;
}

}  // namespace latecomer
