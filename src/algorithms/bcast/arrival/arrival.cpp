// Arrival broadcasts: the root learns which ranks have arrived and has the least busy rank send
// them the vector, so that no rank waits for an absent one. They decide while they run.
//
// Ranks that arrive while the root sends make a pipelined chain behind its receiver; a rank that
// arrives later begins another chain (arrival_rank.hpp). A single late rank has the vector m beta
// and a few words after its arrival. With arrival_b the root waits for absent ranks; with
// arrival_nb it sends to them meanwhile, one after another: the root leaves early, and so do they.
// Use them for long vectors and unknown arrivals. Source: Patarasuk and Yuan 2008; there the root
// serves each group itself, here the end of a chain serves the ranks that arrive later.
#include "algorithms/bcast/arrival/arrival.hpp"

#include <algorithm>

#include "algorithms/chains.hpp"
#include "algorithms/row.hpp"
#include "algorithms/segments.hpp"

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
    return fail_by_plan(from, context_.me);
  }
  follow(rank_.received(segment));
}

std::string ArrivalProtocol::waiting_for() const {
  const RootScheduler* const root = rank_.root();
  return root != nullptr ? waiting_text(*root) : waiting_text(*rank_.fed());
}

namespace {

/// The algorithm whose root sends to absent ranks as well.
constexpr std::string_view kAhead = "arrival_nb";

Feeding feeding_of(const Plan& plan) {
  const Problem& problem = plan.problem;
  return {problem.ranks, problem.root, std::min(plan.parameters.at("segments"), problem.count),
          plan.algorithm == kAhead ? kAnnounced : 0};
}

class ArrivalExecutor final : public Executor {
 public:
  ArrivalExecutor(const Plan& plan, Rank me)
      : context_(context_of(plan, me)), feeding_(feeding_of(plan)) {}
  [[nodiscard]] const RankContext& context() const override { return context_; }
  [[nodiscard]] std::unique_ptr<Protocol> create_protocol(
      Transport& transport, const ProtocolOptions& /*options*/) const override {
    return std::make_unique<ArrivalProtocol>(feeding_, context_, transport);
  }
  [[nodiscard]] ControlMeaning meaning(ControlWords words) const override {
    return meaning_of(words);
  }

 private:
  RankContext context_;
  Feeding feeding_;
};

/// Fills in the segments of a chain of all ranks, short enough to be sent to an absent rank.
void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  const bool ahead = plan.algorithm == kAhead && !plan.parameters.contains("segments");
  fill_chain(plan, knowledge.network, {});
  Count& segments = plan.parameters["segments"];
  if (ahead) segments = std::max(segments, eager_parts(problem.bytes(), knowledge.network));
  segments = std::min(segments, max_segments(problem.count));
}

/// The cost of a chain and of words between root and ranks, about half of them beside the segments.
Cost cost(const Plan& plan) { return chain_cost(plan) + Cost{3 + plan.problem.ranks / 2}; }

Algorithm row(std::string_view segments) {
  return {.scratch_messages = 0,
          .parameters = {{"segments", segments, 1, {}}},
          .cost_formula = "about (S+P-2)(alpha + m/S beta) + P alpha",
          .source = "Patarasuk and Yuan 2008; later groups are served by earlier ones",
          .fill_plan = fill_plan,
          .cost = cost,
          .executor = executor_of<ArrivalExecutor>};
}

}  // namespace

LATECOMER_ROW(bcast, arrival_b) {
  return row("in all, at most 65536; default: the best for a chain of all ranks");
}
LATECOMER_ROW(bcast, arrival_nb) {
  return row("in all, at most 65536; default: the best for a chain of all ranks, sent eagerly");
}

}  // namespace latecomer::bcast
