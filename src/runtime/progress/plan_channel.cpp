#include "runtime/progress/plan_channel.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.hpp"
#include "runtime/call/datatypes.hpp"
#include "transports/mpi/link.hpp"

namespace latecomer {
namespace {

/// Pairs of numbers have holes, and are reduced by these alone.
bool pairs(MPI_Op op) { return op == MPI_MAXLOC || op == MPI_MINLOC; }

}  // namespace

std::optional<CallSignature> signature_of(const Call& call, Rank ranks, Rank me) {
  const bool reduces = combines(call.collective);
  // Moved data are bytes, whatever their types; their operator is not used.
  const MPI_Op op = reduces ? call.op : MPI_SUM;
  const auto number = number_of(op);
  const Predefined* const type = meaning_of(reduces ? call.sendtype : MPI_BYTE);
  if (!number || pairs(op) || type == nullptr) return std::nullopt;
  if (reduces && combined_as(op, call.sendtype) != datatype_numbered(type->number)) {
    return std::nullopt;
  }
  const Problem problem = problem_of(call, ranks, me);
  if (!problem.parts.empty()) return std::nullopt;
  return CallSignature{static_cast<std::uint64_t>(problem.count), *number, type->number,
                       static_cast<std::uint16_t>(call.collective), problem.root};
}

bool is_valid(const CallSignature& signature, Rank ranks) try {
  (void)operator_numbered(signature.op);
  (void)datatype_numbered(signature.type);
  return signature.collective < kCollectives && signature.root >= 0 && signature.root < ranks &&
         signature.count <= static_cast<std::uint64_t>(std::numeric_limits<Count>::max());
} catch (const Error&) {
  return false;
}

MPI_Op op_of(const CallSignature& signature) { return operator_numbered(signature.op); }
MPI_Datatype type_of(const CallSignature& signature) { return datatype_numbered(signature.type); }

Problem problem_of(const CallSignature& signature, Rank ranks) {
  Problem problem;
  problem.collective = static_cast<Collective>(signature.collective);
  problem.ranks = ranks;
  problem.count = static_cast<Count>(signature.count);
  problem.element_bytes = size_of(type_of(signature));
  problem.root = signature.root;
  problem.exact = combines(problem.collective) && exact(op_of(signature));
  return problem;
}

namespace {

struct Packed {
  std::uint64_t owner = 0;
  PlanHead head;
};

std::vector<char> pack(const PlanMessage& message, std::uint64_t owner) {
  const Packed packed{owner, message};
  std::vector<char> bytes(sizeof packed + message.text.size());
  std::memcpy(bytes.data(), &packed, sizeof packed);
  std::copy(message.text.begin(), message.text.end(), bytes.begin() + sizeof packed);
  return bytes;
}

/// Reads a message; nothing if the bytes were not written by this library for the owner.
std::optional<PlanMessage> unpack(std::span<const char> bytes, Rank ranks, std::uint64_t owner) {
  Packed packed;
  if (bytes.size() < sizeof packed) return std::nullopt;
  std::memcpy(&packed, bytes.data(), sizeof packed);
  const auto text = bytes.subspan(sizeof packed);
  const PlanHead& head = packed.head;
  if (packed.owner != owner || head.kind > PlanMessage::Kind::report ||
      !is_valid(head.signature, ranks))
    return std::nullopt;
  return PlanMessage{head, {text.begin(), text.end()}};
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

void Sequencer::note_report(Rank from, const PlanMessage& report) {
  reports_[static_cast<std::size_t>(from)] = {report.call, report.arrival, report.weight};
}

const PlanHead* Sequencer::requested(std::uint64_t call) const {
  const auto found = requested_.find(call);
  return found == requested_.end() ? nullptr : &found->second;
}

std::vector<Seconds> Sequencer::blend(std::uint64_t call, std::vector<Seconds> forecast,
                                      Seconds now) const {
  const auto current = [call](const Report& report) { return report.call == call; };
  if (std::none_of(reports_.begin(), reports_.end(), current)) return forecast;
  const bool has_forecast = !forecast.empty();
  forecast.resize(reports_.size());
  for (std::size_t rank = 0; rank < reports_.size(); ++rank) {
    const Report& report = reports_[rank];
    if (!current(report)) continue;
    const double weight = has_forecast ? report.weight : 1;
    const Seconds reported = std::max(report.arrival - now, 0.0);
    forecast[rank] = weight * reported + (1 - weight) * forecast[rank];
  }
  const Seconds earliest = *std::min_element(forecast.begin(), forecast.end());
  for (Seconds& arrival : forecast) arrival -= earliest;
  return forecast;
}

}  // namespace latecomer
