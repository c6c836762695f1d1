#include "algorithms/bcast/arrival/arrival_protocol.hpp"

#include <utility>

namespace latecomer::bcast {
namespace {

constexpr int kSegmentBits = 24;
constexpr std::uint64_t kSegments = std::uint64_t{1} << kSegmentBits;

/// The lower 32 bits are the rank plus 1; the upper ones are the segment and the kind of word.
std::uint64_t encode(const Word& word) {
  const auto said = static_cast<std::uint64_t>(word.said);
  return (said << kSegmentBits | static_cast<std::uint64_t>(word.segment)) << 32 |
         static_cast<std::uint32_t>(word.rank + 1);
}

Word decode(std::uint64_t bits) {
  const std::uint64_t upper = bits >> 32;
  return {static_cast<Said>(upper >> kSegmentBits),
          static_cast<Rank>(static_cast<std::uint32_t>(bits)) - 1,
          static_cast<Count>(upper % kSegments)};
}

/// The tokens of completions: of a send, by its receiver, and of a receive, by its segment.
Token sent_to(Rank peer) { return 2 * static_cast<Token>(peer) + 1; }
Token received(Count segment) { return 2 * static_cast<Token>(segment); }

std::string to_take(Rank rank) {
  return "for rank " + std::to_string(rank) + " to take the vector";
}

std::string waiting_text(const RootScheduler& root) {
  if (root.feeds() >= 0) return to_take(root.feeds());
  if (root.absent() < 0) return "for segments to leave";
  return "for rank " + std::to_string(root.absent()) + " to arrive";
}

std::string waiting_text(const Forwarder& rank) {
  const std::string hears = "to hear from rank " + std::to_string(rank.root());
  if (rank.missing() > 0) {
    const Rank source = rank.source(rank.have());
    return source < 0 ? hears + " who sends" : "for rank " + std::to_string(source);
  }
  return rank.feeds() < 0 ? hears + " whether somebody follows" : to_take(rank.feeds());
}

}  // namespace

ControlMeaning meaning_of(ControlWords words) {
  static constexpr const char* names[] = {"here", "next", "feed", "last", "soon"};
  const Word word = decode(words.front());
  ControlMeaning all{names[static_cast<int>(word.said)], std::nullopt, std::nullopt, {}};
  if (word.rank >= 0) all.rank = word.rank;
  if (word.said != Said::here && word.said != Said::last) all.number = word.segment;
  return all;
}

ArrivalProtocol::ArrivalProtocol(const Feeding& feeding, const RankContext& context,
                                 Transport& transport)
    : context_(context),
      transport_(transport),
      rank_(feeding, context.me),
      buffer_(feeding.root == context.me ? Buffer::input : Buffer::output),
      segments_(context.buffer_count(buffer_), std::max<Count>(1, feeding.segments)) {}

void ArrivalProtocol::on_control(Rank from, ControlWords words) {
  if (status_ == Status::running) follow(rank_.hear(from, decode(words.front())));
}

Slice ArrivalProtocol::data(const Transfer& transfer) const {
  const Range range = segments_.range(transfer.segment);
  return {buffer_, range.begin, range.count};
}

void ArrivalProtocol::follow(const Step& step) {
  for (const auto& [to, word] : step.tell) {
    const std::uint64_t bits = encode(word);
    transport_.send_control(to, {&bits, 1});
  }
  for (const Transfer& transfer : step.receive) {
    transport_.post(Operation::recv(transfer.peer, data(transfer)), received(transfer.segment),
                    {.first = transfer.first});
  }
  for (const Transfer& transfer : step.send) {
    transport_.post(Operation::send(transfer.peer, data(transfer)), sent_to(transfer.peer),
                    {.first = transfer.first});
  }
  if (rank_.done()) status_ = Status::done;
}

void ArrivalProtocol::completed(const Completion& completion) {
  if (status_ != Status::running) return;
  if (completion.error != 0) return fail(failure_of(completion));
  const bool send = completion.token % 2 != 0;
  if (send) return follow(rank_.sent(static_cast<Rank>(completion.token / 2)));
  take(completion.token / 2, completion.plan_hash);
}

/// The first segment from each sender says which plan the sender follows.
void ArrivalProtocol::take(Count segment, std::uint64_t plan_hash) {
  const Rank from = rank_.fed()->source(segment);
  if (rank_.fed()->is_first(segment) && plan_hash != context_.plan_hash) {
    return fail("rank " + std::to_string(from) + " follows another plan than rank " +
                std::to_string(context_.me));
  }
  follow(rank_.received(segment));
}

void ArrivalProtocol::fail(std::string why) {
  status_ = Status::failed;
  failure_ = std::move(why);
}

std::string ArrivalProtocol::waiting_for() const {
  const RootScheduler* const root = rank_.root();
  return root != nullptr ? waiting_text(*root) : waiting_text(*rank_.fed());
}

}  // namespace latecomer::bcast
