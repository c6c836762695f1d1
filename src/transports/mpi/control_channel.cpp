#include "transports/mpi/control_channel.hpp"

namespace latecomer {
namespace {

constexpr int kProbeEvery = 4;  // calls of receive(), while no message arrives

}  // namespace

void ControlChannel::begin(std::uint64_t call) {
  call_ = call;
  skips_left_ = 0;
  if (!kept_.empty()) {
    std::erase_if(kept_, [call](const Received& kept) { return kept.packet.call < call; });
  }
}

void ControlChannel::send(Rank to, std::uint64_t payload) {
  used_ = true;
  const Packet packet{call_, payload};
  mailbox_.send(to, &packet, sizeof packet);
}

std::optional<ControlChannel::Message> ControlChannel::receive() {
  used_ = true;
  if (const auto kept = receive_kept()) return kept;
  if (skips_left_ > 0) {
    --skips_left_;
    return std::nullopt;
  }
  while (const auto envelope = mailbox_.receive()) {
    const auto packet = envelope->as<Packet>();
    if (!packet || packet->call < call_) continue;
    if (packet->call == call_) return Message{envelope->from, packet->payload};
    kept_.push_back({envelope->from, *packet});
  }
  skips_left_ = kProbeEvery - 1;
  return std::nullopt;
}

/// The next message of this call among those that arrived during earlier calls.
std::optional<ControlChannel::Message> ControlChannel::receive_kept() {
  for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
    if (kept->packet.call != call_) continue;
    const Message payload{kept->from, kept->packet.payload};
    kept_.erase(kept);
    return payload;
  }
  return std::nullopt;
}

}  // namespace latecomer
