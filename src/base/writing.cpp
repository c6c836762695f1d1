#include "base/writing.hpp"

#include <locale.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>

namespace latecomer {
namespace {

constexpr std::array kSignals = {SIGXFSZ, SIGPIPE};
constexpr int kPatience = 1000;  // milliseconds, until a pipe takes more

}  // namespace

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
