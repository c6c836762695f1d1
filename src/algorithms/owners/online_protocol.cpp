#include "algorithms/owners/online_protocol.hpp"

#include <optional>

#include "algorithms/owners/planning.hpp"

namespace latecomer::owners {
namespace {

// A control message: a word of kind and round, and one for each entry, of its rank and round.
constexpr int kUpperBits = 28;
constexpr std::uint64_t kUpper = std::uint64_t{1} << kUpperBits;

std::uint64_t packed(std::uint64_t upper, Count round) {
  return static_cast<std::uint64_t>(round) << kUpperBits | upper;
}

std::vector<std::uint64_t> encode(const LogMessage& message) {
  std::vector<std::uint64_t> words = {
      packed(static_cast<std::uint64_t>(message.kind), message.round)};
  for (const auto& [rank, round] : message.entries) {
    words.push_back(packed(static_cast<std::uint64_t>(rank), round));
  }
  return words;
}

/// Nothing for words that are no message.
std::optional<LogMessage> decode(ControlWords words) {
  constexpr auto kLast = static_cast<std::uint64_t>(LogMessage::Kind::update);
  if (words.empty() || words.front() % kUpper > kLast) return std::nullopt;
  LogMessage message{static_cast<LogMessage::Kind>(words.front() % kUpper),
                     static_cast<Count>(words.front() >> kUpperBits),
                     {}};
  for (const std::uint64_t word : words.subspan(1)) {
    message.entries.push_back(
        {static_cast<Rank>(word % kUpper), static_cast<Count>(word >> kUpperBits)});
  }
  return message;
}

enum class Work : std::uint8_t { send, receive, combine, copy };
constexpr Token kWorks = 4;

Token token(Work work, std::size_t number) {
  return static_cast<Token>(number) * kWorks + static_cast<Token>(work);
}

/// All contributions to the first block are combined in its result, which reaches all ranks; in an
/// all-gather the first piece of each rank's part does. So do the arrival stamps that they carry.
Count stamped_blocks(const Plan& plan) {
  return combines(plan.problem.collective) ? 1 : plan.problem.ranks;
}

}  // namespace

ControlMeaning meaning_of(ControlWords words) {
  static constexpr const char* names[] = {"here", "over", "update"};
  const std::optional<LogMessage> message = decode(words);
  if (!message) return {};
  ControlMeaning all{names[static_cast<int>(message->kind)], std::nullopt, message->round, {}};
  if (message->kind == LogMessage::Kind::here) all.number.reset();
  for (const auto& [rank, round] : message->entries) all.entries.push_back({rank, round});
  return all;
}

OnlineProtocol::OnlineProtocol(const OnlineCall& call, const BlockLayout& layout,
                               const RankContext& context, Transport& transport)
    : context_(context),
      transport_(transport),
      rank_(call, context.me),
      layout_(layout),
      combines_(call.combines == Combines::yes),
      settled_(layout.blocks.size(), false),
      sent_to_(static_cast<std::size_t>(call.ranks), false),
      received_from_(static_cast<std::size_t>(call.ranks), false) {}

/// One rank alone only copies; without elements there is nothing to do. In an all-gather each rank
/// copies its own part.
void OnlineProtocol::arrive() {
  const Count count = context_.input_count;
  copying_ = !context_.in_place && count > 0 && (context_.ranks == 1 || !combines_);
  if (copying_) {
    const Slice output{Buffer::output, layout_.input_begin, count};
    transport_.post(Operation::copy({Buffer::input, 0, count}, output), token(Work::copy, 0), {});
  }
  if (context_.ranks == 1 || context_.output_count == 0) return end();
  OnlineRank::Step step;
  rank_.arrive(step);
  follow(step);
  arrived_ = true;
  for (const auto& [from, words] : std::exchange(kept_, {})) on_control(from, words);
}

/// Without a progress thread a rank hears nothing before it arrives.
void OnlineProtocol::on_control(Rank from, ControlWords words) {
  if (status_ != Status::running) return;
  if (!arrived_ && context_.progress == Progress::foreground) {
    kept_.emplace_back(from, std::vector(words.begin(), words.end()));
    return;
  }
  const std::optional<LogMessage> message = decode(words);
  if (!message || !rank_.log().can_come(from, *message)) {
    return fail(rank_.name(from) + " sent a control message that does not fit the plan of " +
                rank_.name(context_.me));
  }
  OnlineRank::Step step;
  rank_.hear(from, *message, step);
  follow(step);
}

void OnlineProtocol::completed(const Completion& completion) {
  if (status_ != Status::running) return;
  if (completion.error != 0) return fail(failure_of(completion));
  const std::size_t number = completion.token / kWorks;
  OnlineRank::Step step;
  switch (static_cast<Work>(completion.token % kWorks)) {
    case Work::send:
      rank_.sent(number, step);
      break;
    case Work::receive:
      return landed(number, completion.plan_hash);
    case Work::combine:
      to_combine_.pop_front();
      combine_next();
      rank_.combined(number, step);
      break;
    case Work::copy:
      copying_ = false;
      return end();
  }
  follow(step);
}

/// The first message of each sender says which plan it follows.
void OnlineProtocol::landed(std::size_t receive, std::uint64_t plan_hash) {
  const Hop& hop = rank_.receive_hop(receive);
  if (first_of_peer_[receive] && plan_hash != context_.plan_hash) {
    return fail(rank_.name(hop.from) + " follows another plan than " + rank_.name(context_.me));
  }
  if (hop.final) {
    transport_.settled(result(hop.block));
  } else {
    to_combine_.push_back(receive);
    if (to_combine_.size() == 1) combine_next();
  }
  OnlineRank::Step step;
  rank_.received(receive, step);
  follow(step);
}

void OnlineProtocol::follow(const OnlineRank::Step& step) {
  for (const auto& [to, message] : step.tell) transport_.send_control(to, encode(message));
  for (const std::size_t each : step.receive) receive(each);
  for (const std::size_t each : step.send) send(each);
  end();
}

void OnlineProtocol::end() {
  const bool alone = context_.ranks == 1 || context_.output_count == 0;
  if (status_ == Status::running && !copying_ && (alone || rank_.done())) status_ = Status::done;
}

void OnlineProtocol::send(std::size_t send) {
  const Hop& hop = rank_.send_hop(send);
  const bool owns = hop.block % context_.ranks == context_.me;
  if (hop.final && owns) settle(hop.block);
  const bool in_output = (hop.final && (combines_ || !owns)) || rank_.combined_before(send);
  const Slice data = in_output ? result(hop.block) : own(hop.block);
  const bool first = !sent_to_[static_cast<std::size_t>(hop.to)];
  sent_to_[static_cast<std::size_t>(hop.to)] = true;
  transport_.post(Operation::send(hop.to, data), token(Work::send, send),
                  options(hop, data, first));
}

PostOptions OnlineProtocol::options(const Hop& hop, const Slice& data, bool first) const {
  return {.first = first, .piggybacks = hop.block < layout_.stamped, .paced = !data.empty()};
}

/// A block of its own is final when this rank first sends it as a result.
void OnlineProtocol::settle(Count block) {
  const auto number = static_cast<std::size_t>(block);
  if (settled_[number]) return;
  settled_[number] = true;
  transport_.settled(result(block));
}

void OnlineProtocol::receive(std::size_t receive) {
  const Hop& hop = rank_.receive_hop(receive);
  const bool first = !received_from_[static_cast<std::size_t>(hop.from)];
  received_from_[static_cast<std::size_t>(hop.from)] = true;
  first_of_peer_.push_back(first);
  const Slice to = lands(receive) ? landing(receive) : result(hop.block);
  transport_.post(Operation::recv(hop.from, to), token(Work::receive, receive),
                  options(hop, to, first));
}

/// The rank's own contribution lies in its input until the first one of others is combined with it
/// in the output.
void OnlineProtocol::combine_next() {
  if (to_combine_.empty()) return;
  const std::size_t receive = to_combine_.front();
  const Count block = rank_.receive_hop(receive).block;
  const Slice left = lands(receive) ? landing(receive) : own(block);
  transport_.post(Operation::combine(left, result(block), Into::right),
                  token(Work::combine, receive), {});
}

Slice OnlineProtocol::own(Count block) const {
  if (context_.in_place) return result(block);
  const Range range = layout_.blocks[static_cast<std::size_t>(block)];
  return {Buffer::input, range.begin - layout_.input_begin, range.count};
}

Slice OnlineProtocol::result(Count block) const {
  const Range range = layout_.blocks[static_cast<std::size_t>(block)];
  return {Buffer::output, range.begin, range.count};
}

/// Only the first contribution can be received where the result will be, unless this rank's own
/// lies there.
bool OnlineProtocol::lands(std::size_t receive) const {
  if (rank_.receive_hop(receive).final) return false;
  return context_.in_place || !rank_.first_contribution(receive);
}

Slice OnlineProtocol::landing(std::size_t receive) const {
  const auto slot = static_cast<Count>(rank_.landing(receive));
  const Count count = result(rank_.receive_hop(receive).block).count;
  return {Buffer::scratch, slot * layout_.longest, count};
}

OnlineExecutor::OnlineExecutor(const Plan& plan, Rank me, const char* member)
    : call_{plan.problem.ranks,
            blocks_of(plan),
            static_cast<Rank>(plan.parameters.at("coordinator")),
            plan.parameters.at("window"),
            plan.parameters.at("step"),
            static_cast<Rank>(plan.parameters.at("children")),
            combines_of(plan),
            member},
      layout_{ranges_of(plan), longest_block(plan), plan.problem.before(me).begin,
              plan.telemetry ? stamped_blocks(plan) : 0},
      context_(context_of(plan, me)) {
  if (call_.combines == Combines::no) return;
  context_.scratch_count = static_cast<Count>(OnlineRank::kLandings) * layout_.longest;
}

std::unique_ptr<Protocol> OnlineExecutor::create_protocol(
    Transport& transport, const ProtocolOptions& /*options*/) const {
  return std::make_unique<OnlineProtocol>(call_, layout_, context_, transport);
}

}  // namespace latecomer::owners
