#include "runtime/progress/plan_channel.hpp"

#include <algorithm>
#include <cstring>

#include "transports/mpi/tags.hpp"

namespace latecomer {
namespace {

/// The part of a message that has a fixed length.
struct Head {
  std::uint64_t owner = 0;
  PlanMessage::Kind kind = {};
  std::uint64_t call = 0;
  CallSignature signature;
  Seconds arrival = 0;
  double weight = 0;
  std::uint32_t row = 0;
};

std::vector<char> pack(const PlanMessage& message, std::uint64_t owner) {
  const Head head{owner,           message.kind,   message.call, message.signature,
                  message.arrival, message.weight, message.row};
  std::vector<char> bytes(sizeof head + message.text.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  std::copy(message.text.begin(), message.text.end(), bytes.begin() + sizeof head);
  return bytes;
}

/// Reads a message; nothing if the bytes were not written by this library for the owner.
std::optional<PlanMessage> unpack(std::span<const char> bytes, Rank ranks, std::uint64_t owner) {
  Head head{};
  if (bytes.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  const auto text = bytes.subspan(sizeof head);
  if (head.owner != owner || head.kind > PlanMessage::Kind::report ||
      !is_valid(head.signature, ranks))
    return std::nullopt;
  return PlanMessage{head.kind,
                     head.call,
                     head.signature,
                     head.arrival,
                     head.weight,
                     head.row,
                     {text.begin(), text.end()}};
}

}  // namespace

PlanChannel::PlanChannel(const Link& link, std::uint64_t owner)
    : ranks_(link.ranks()), owner_(owner), mailbox_(link, Tags::kPlans) {}

void PlanChannel::send(Rank to, const PlanMessage& message) {
  const std::vector<char> bytes = pack(message, owner_);
  mailbox_.send(to, bytes.data(), bytes.size());
}

std::optional<ReceivedPlanMessage> PlanChannel::receive() {
  while (const auto envelope = mailbox_.receive()) {
    auto message = unpack(envelope->content, ranks_, owner_);
    if (message) return ReceivedPlanMessage{envelope->from, std::move(*message)};
  }
  return std::nullopt;
}

}  // namespace latecomer
