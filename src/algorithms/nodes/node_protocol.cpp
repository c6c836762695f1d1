#include "algorithms/nodes/node_protocol.hpp"

#include <algorithm>
#include <utility>

namespace latecomer {
namespace {

constexpr Token kKinds = 4;

}  // namespace

NodeProtocol::NodeProtocol(const Executor& among, const NodeVector& vector, const Drivers& drivers,
                           std::uint64_t plan_hash, Transport& transport,
                           const ProtocolOptions& options)
    : vector_(vector),
      drivers_(drivers),
      plan_hash_(plan_hash),
      hash_among_(among.context().plan_hash),
      transport_(transport),
      protocol_(among.create_protocol(*this, options)),
      summed_(vector.sums.size(), false) {
  for (const auto& [slice, flag] : vector.results) unsettled_.push_back(slice.count);
}

Token NodeProtocol::token(Kind kind, std::size_t number) {
  return static_cast<Token>(number) * kKinds + static_cast<Token>(kind);
}

void NodeProtocol::start() {
  protocol_->start();
  open_ += vector_.sums.size();
  for (std::size_t i = 0; i < vector_.sums.size(); ++i) {
    const auto& [slice, flag] = vector_.sums[i];
    FlagUse use{.flag = flag, .count = vector_.ranks, .source = {}, .target = slice};
    use.piggybacks = vector_.tells && i == 0;
    transport_.await(use, token(Kind::sum, i));
  }
}

void NodeProtocol::arrive() {
  if (vector_.sums.empty()) protocol_->arrive();
}

void NodeProtocol::completed(const Completion& completion) {
  const std::size_t number = completion.token / kKinds;
  switch (static_cast<Kind>(completion.token % kKinds)) {
    case Kind::among: {
      Completion among = completion;
      among.token = static_cast<Token>(number);
      if (completion.plan_hash == plan_hash_) among.plan_hash = hash_among_;
      return protocol_->completed(among);
    }
    case Kind::sum:
      --open_;
      return summed(number);
    case Kind::result:
      --open_;
      return;
  }
}

void NodeProtocol::on_control(Rank from, ControlWords words) {
  protocol_->on_control(drivers_.nodes.node(from), words);
}

Status NodeProtocol::status() const {
  const Status status = protocol_->status();
  return status == Status::done && open_ > 0 ? Status::running : status;
}

const std::string& NodeProtocol::failure() const { return protocol_->failure(); }

std::string NodeProtocol::waiting_for() const {
  if (parts_summed_ < vector_.sums.size()) {
    return "for the sum of its node, of which " + std::to_string(parts_summed_) + " of " +
           std::to_string(vector_.sums.size()) + " parts are there";
  }
  return protocol_->waiting_for();
}

// --- The sum of the node ---

void NodeProtocol::summed(std::size_t part) {
  const bool arrived = parts_summed_ > 0;
  summed_[part] = true;
  while (parts_summed_ < summed_.size() && summed_[parts_summed_]) ++parts_summed_;
  if (!arrived && parts_summed_ > 0) protocol_->arrive();
  for (auto* const queue : {&sends_, &receives_, &locals_}) release(*queue);
}

/// Posts an operation when all that it touches of the vector is summed, after those of its queue
/// that were to be posted before.
void NodeProtocol::when_summed(std::deque<Held>& queue, std::initializer_list<Slice> touched,
                               std::function<void()> post) {
  Count end = 0;
  for (const Slice& slice : touched) {
    if (slice.buffer == Buffer::node && !slice.empty()) end = std::max(end, slice.end());
  }
  queue.push_back({end, std::move(post)});
  release(queue);
}

void NodeProtocol::release(std::deque<Held>& queue) const {
  const auto there = [&](Count end) {
    return end == 0 || parts_summed_ == summed_.size() ||
           end <= vector_.sums[parts_summed_].slice.begin;
  };
  while (!queue.empty() && there(queue.front().end)) {
    const Held next = std::move(queue.front());
    queue.pop_front();
    next.post();
  }
}

// --- The transport of the protocol among the nodes ---

/// The protocol's input and output are the vector of the node.
Slice NodeProtocol::place(const Slice& slice) const {
  if (vector_.sums.empty() || slice.buffer == Buffer::scratch) return slice;
  return vector_.whole.part(slice.begin, slice.count);
}

Message NodeProtocol::to_driver(Message message) const {
  message.peer = drivers_.of(message.peer);
  message.data = place(message.data);
  return message;
}

void NodeProtocol::send(const Message& message, std::uint64_t /*plan_hash*/, Token number) {
  const Message lifted = to_driver(message);
  when_summed(sends_, {lifted.data},
              [=, this] { transport_.send(lifted, plan_hash_, token(Kind::among, number)); });
}

void NodeProtocol::recv(const Message& message, Token number) {
  const Message lifted = to_driver(message);
  when_summed(receives_, {lifted.data},
              [=, this] { transport_.recv(lifted, token(Kind::among, number)); });
}

void NodeProtocol::combine(const Slice& left, const Slice& right, Into into, Token number) {
  const Slice a = place(left);
  const Slice b = place(right);
  when_summed(locals_, {a, b},
              [=, this] { transport_.combine(a, b, into, token(Kind::among, number)); });
}

void NodeProtocol::copy(const Slice& from, const Slice& to, Token number) {
  const Slice a = place(from);
  const Slice b = place(to);
  when_summed(locals_, {a, b}, [=, this] { transport_.copy(a, b, token(Kind::among, number)); });
}

/// Signals the parts of the result of which this slice was the last that lacked.
void NodeProtocol::settled(const Slice& result) {
  const Slice there = place(result);
  for (std::size_t i = 0; i < vector_.results.size(); ++i) {
    const auto& [slice, flag] = vector_.results[i];
    const Count both = std::min(slice.end(), there.end()) - std::max(slice.begin, there.begin);
    if (both <= 0) continue;
    unsettled_[i] -= both;
    if (unsettled_[i] > 0) continue;
    ++open_;
    FlagUse use{.flag = flag, .count = 0, .source = slice, .target = {}};
    use.piggybacks = vector_.tells && i == 0;
    transport_.signal(use, token(Kind::result, i));
  }
}

void NodeProtocol::send_control(Rank peer, ControlWords words) {
  transport_.send_control(drivers_.of(peer), words);
}

}  // namespace latecomer
