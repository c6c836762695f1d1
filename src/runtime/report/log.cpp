#include "runtime/report/log.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <mutex>

#include "base/files.hpp"

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

Stderr& standard_error() {
  static auto& made = *new Stderr;  // messages may come after static objects
  return made;
}

}  // namespace

void keep_stderr() { standard_error().keep(); }

void log_line(const std::string& text) { log_text("latecomer: " + printable(text) + "\n"); }

/// One write, so that lines of ranks that share a terminal do not mix.
void log_text(const std::string& text) { standard_error().write(text); }

std::string describe(MPI_Comm comm) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  int rank = 0;
  int size = 0;
  PMPI_Comm_get_name(comm, name, &length);
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  std::string text = "rank " + std::to_string(rank) + " of ";
  text += length > 0 ? std::string("'").append(name).append("'") : "an unnamed communicator";
  return text.append(" (").append(std::to_string(size)).append(" ranks)");
}

}  // namespace latecomer
