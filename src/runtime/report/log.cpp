#include "runtime/report/log.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <mutex>

#include "base/files.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "transports/mpi/communicators.hpp"

namespace latecomer {
namespace {

/// A second descriptor of stderr. The program's have the lowest numbers, so it gets a higher one.
int copy_of_stderr() {
  constexpr rlim_t kNumber = 256;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
  return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC,
               static_cast<int>(std::min(kNumber, limit.rlim_cur / 2)));
}

/// The stderr that the program was started with.
class Stderr {
 public:
  void keep() {
    const std::lock_guard hold(guard_);
    look();
  }
  void write(const std::string& text) {
    const std::lock_guard hold(guard_);
    if (!known_) look();
    const bool same = file_.open && FileIdentity::of(STDERR_FILENO) == file_;
    const int to = same ? STDERR_FILENO : copy_.get();
    if (to >= 0) (void)write_all(to, text);
  }

 private:
  void look() {
    file_ = FileIdentity::of(STDERR_FILENO);
    copy_ = OwnDescriptor(file_.open ? copy_of_stderr() : -1);
    known_ = true;
  }

  std::mutex guard_;
  bool known_ = false;
  FileIdentity file_;
  OwnDescriptor copy_;
};

}  // namespace

void keep_stderr() { lasting<Stderr>().keep(); }

void log_line(const std::string& text) { log_text("latecomer: " + printable(text) + "\n"); }

/// One write, so that lines of ranks that share a terminal do not mix.
void log_text(const std::string& text) { lasting<Stderr>().write(text); }

std::string describe(MPI_Comm comm) {
  const std::string name = name_in_mpi(comm);
  return "rank " + std::to_string(rank_in(comm)) + " of " +
         (name.empty() ? "an unnamed communicator" : '\'' + name + '\'') + " (" +
         std::to_string(ranks_of(comm)) + " ranks)";
}

}  // namespace latecomer
