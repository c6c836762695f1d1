#include "base/files.hpp"

#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

namespace latecomer {
namespace {

using Variable = std::optional<std::string> (*)(const char* name);

std::string name_of_job(Variable variable) {
  const auto step = variable("SLURM_STEP_ID");
  for (const char* const each : {"PMIX_NAMESPACE", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"}) {
    const auto name = variable(each);
    if (name) return *name + (std::string(each) == "SLURM_JOB_ID" && step ? "." + *step : "");
  }
  return std::to_string(getppid());
}

/// Makes a text usable as a part of a file's name.
std::string as_word(std::string text) {
  const auto odd = [](char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');  // in any locale
    const bool digit = c >= '0' && c <= '9';
    return !letter && !digit && std::string_view("-_.@").find(c) == std::string_view::npos;
  };
  std::replace_if(text.begin(), text.end(), odd, '_');
  return text;
}

constexpr std::array kSignals = {SIGXFSZ, SIGPIPE};
constexpr int kPatience = 1000;  // milliseconds, until a pipe takes more

}  // namespace

std::string expanded(const std::string& pattern, Rank rank, Variable variable) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : ' ';
    if (next == 'r') {
      name += std::to_string(rank);
    } else if (next == 'p') {
      name += std::to_string(getpid());
    } else if (next == 'j') {
      name += as_word(name_of_job(variable));
    } else {
      name += pattern[i];
      continue;
    }
    ++i;
  }
  return name;
}

FileIdentity FileIdentity::of(int descriptor) {
  struct stat found{};
  if (descriptor < 0 || fstat(descriptor, &found) != 0) return {};
  return {found.st_dev, found.st_ino, true};
}

OwnDescriptor::OwnDescriptor(int number) : number_(number) {
  const int before = errno;
  file_ = FileIdentity::of(number);
  errno = before;
}

OwnDescriptor::~OwnDescriptor() {
  if (const int number = get(); number >= 0) close(number);
}

int OwnDescriptor::get() const {
  if (number_ < 0 || FileIdentity::of(number_) == file_) return number_;
  errno = EBADF;
  return -1;
}

NoWriteSignals::NoWriteSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int each : kSignals) sigaddset(&set, each);
  pthread_sigmask(SIG_BLOCK, &set, &mask_);
  sigpending(&pending_);
}

NoWriteSignals::~NoWriteSignals() {
  const int before = errno;
  sigset_t now;
  sigpending(&now);
  for (const int each : kSignals) {
    if (sigismember(&now, each) == 0 || sigismember(&pending_, each) == 1) continue;
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, each);
    constexpr timespec kAtOnce{};
    sigtimedwait(&one, nullptr, &kAtOnce);
  }
  pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  errno = before;
}

int reserve_room(int descriptor, std::uint64_t begin, std::uint64_t bytes) {
  const NoWriteSignals no_signals;  // the process may have a limit on the size of files
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int code = EINTR;
  while (code == EINTR) {
    code = posix_fallocate(descriptor, static_cast<off_t>(begin), static_cast<off_t>(bytes));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return code;
}

int read_all(int descriptor, std::uint64_t from, void* into, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t got = pread(descriptor, static_cast<char*>(into) + done, bytes - done,
                              static_cast<off_t>(from + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno : EIO;
    done += static_cast<std::size_t>(got);
  }
  return 0;
}

int write_all(int descriptor, std::string_view text) {
  const NoWriteSignals no_signals;
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written == 0) return EIO;
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd one{descriptor, POLLOUT, 0};
      if (poll(&one, 1, kPatience) == 0) return EAGAIN;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

std::string meaning_of_error(int code) {
  const locale_t english = newlocale(LC_ALL_MASK, "C", nullptr);  // costs nothing: it is built in
  return strerror_l(code, english);
}

}  // namespace latecomer
