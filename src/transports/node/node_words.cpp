#include "transports/node/node_words.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace latecomer {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

void futex(const std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* at_most) {
  syscall(SYS_futex, &word, operation, value, at_most, nullptr, 0);
}

}  // namespace

void wait_for_change(const std::atomic<std::uint32_t>& word, std::uint32_t value, Seconds at_most) {
  timespec time{};
  time.tv_sec = static_cast<time_t>(at_most);
  time.tv_nsec = static_cast<long>(1e9 * (at_most - static_cast<Seconds>(time.tv_sec)));
  futex(word, FUTEX_WAIT, value, &time);
}

void wake_all(const std::atomic<std::uint32_t>& word) { futex(word, FUTEX_WAKE, INT_MAX, nullptr); }

}  // namespace latecomer
