#include "transports/mpi/control_channel.hpp"

#include <cstring>
#include <utility>

namespace latecomer {
namespace {

constexpr int kProbeEvery = 4;  // calls of receive(), while no message arrives

}  // namespace

void ControlChannel::begin(std::uint64_t call) {
  call_ = call;
  skips_left_ = 0;
  if (!kept_.empty()) {
    std::erase_if(kept_, [call](const Received& kept) { return kept.call < call; });
  }
}

void ControlChannel::send(Rank to, Words words) {
  used_ = true;
  packet_.assign(1, call_);
  packet_.insert(packet_.end(), words.begin(), words.end());
  mailbox_.send(to, packet_.data(), packet_.size() * sizeof(std::uint64_t));
}

std::optional<ControlChannel::Message> ControlChannel::receive() {
  used_ = true;
  if (const auto kept = receive_kept()) return kept;
  if (skips_left_ > 0) {
    --skips_left_;
    return std::nullopt;
  }
  while (const auto envelope = mailbox_.receive()) {
    packet_.resize(envelope->content.size() / sizeof(std::uint64_t));
    if (packet_.size() < 2) continue;
    std::memcpy(packet_.data(), envelope->content.data(), packet_.size() * sizeof(std::uint64_t));
    if (packet_.front() < call_) continue;
    Message message{envelope->from, {packet_.begin() + 1, packet_.end()}};
    if (packet_.front() == call_) return message;
    kept_.push_back({packet_.front(), std::move(message)});
  }
  skips_left_ = kProbeEvery - 1;
  return std::nullopt;
}

/// The next message of this call among those that arrived during earlier calls.
std::optional<ControlChannel::Message> ControlChannel::receive_kept() {
  for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
    if (kept->call != call_) continue;
    Message message = std::move(kept->message);
    kept_.erase(kept);
    return message;
  }
  return std::nullopt;
}

}  // namespace latecomer
