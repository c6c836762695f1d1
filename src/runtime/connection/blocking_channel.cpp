#include "runtime/connection/blocking_channel.hpp"

#include <array>
#include <cstring>

#include "runtime/call/stall_monitor.hpp"

namespace latecomer {

/// Waits until the message has left: this rank may compute for long from now on.
void BlockingChannel::send_bytes(Rank peer, const void* content, std::size_t size) {
  if (failed()) return;
  mailbox_.send(peer, content, size);
  wait(peer, [this] { return mailbox_.idle(); });
}

void BlockingChannel::receive_bytes(Rank peer, void* content, std::size_t size) {
  wait(peer, [&] {
    const auto envelope = mailbox_.receive_from(peer);
    if (!envelope || envelope->content.size() != size) return false;
    std::memcpy(content, envelope->content.data(), size);
    return true;
  });
}

template <class Done>
void BlockingChannel::wait(Rank peer, Done&& done) {
  StallMonitor monitor(resources_, options_);
  while (!failed() && !done()) {
    check();
    monitor.pause([&] {
      monitor.report("for rank " + std::to_string(peer) + ' ' + purpose_, std::array{peer});
      if (when_ == When::in_call) resources_.failures.ask(peer);
    });
    if (monitor.trouble()) outcome_ = {disagreement_class(), *monitor.trouble()};
  }
}

void BlockingChannel::check() {
  if (mailbox_.error() == MPI_SUCCESS) return;
  outcome_ = {mailbox_.error(), "a message " + purpose_ + " failed"};
}

}  // namespace latecomer
