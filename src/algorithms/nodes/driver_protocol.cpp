#include "algorithms/nodes/driver_protocol.hpp"

#include <algorithm>

#include "base/error.hpp"

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
    transport_.post(Operation::await(slice, flag, vector_.ranks), token(Kind::sum, i),
                    {.piggybacks = vector_.tells && i == 0});
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

/// True if the sum is there up to the end of the slice.
bool NodeProtocol::is_there(const Slice& slice) const {
  return slice.buffer != Buffer::node || slice.empty() || parts_summed_ == summed_.size() ||
         slice.end() <= vector_.sums[parts_summed_].slice.begin;
}

/// Posts operations in their order, as long as all that they touch of the vector is summed.
void NodeProtocol::release(Held& queue) const {
  while (!queue.empty() && is_there(queue.front().operation.source) &&
         is_there(queue.front().operation.target)) {
    const Posted next = queue.front();
    queue.pop_front();
    transport_.post(next.operation, next.token, next.options);
  }
}

// --- The transport of the protocol among the nodes ---

/// The protocol's input and output are the vector of the node.
Slice NodeProtocol::place(const Slice& slice) const {
  if (vector_.sums.empty() || slice.buffer == Buffer::scratch) return slice;
  return vector_.whole.part(slice.begin, slice.count);
}

void NodeProtocol::post(const Operation& operation, Token number, PostOptions options) {
  if (has_flag(operation)) throw Error("operation", to_text(operation), "one among nodes");
  Operation lifted = operation;
  lifted.source = place(operation.source);
  lifted.target = place(operation.target);
  if (is_message(operation)) lifted.peer = drivers_.of(operation.peer);
  Held& queue = is_local(operation) ? locals_ : operation.kind == OpKind::send ? sends_ : receives_;
  queue.push_back({lifted, token(Kind::among, number), options});
  release(queue);
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
    transport_.post(Operation::signal(slice, flag), token(Kind::result, i),
                    {.piggybacks = vector_.tells && i == 0});
  }
}

void NodeProtocol::send_control(Rank peer, ControlWords words) {
  transport_.send_control(drivers_.of(peer), words);
}

DriverProtocol::DriverProtocol(const ProgramExecutor& own, const Executor& among,
                               const NodeVector& vector, const Drivers& drivers,
                               Transport& transport, const ProtocolOptions& options)
    : transport_(transport),
      progress_(own.context().progress),
      node_(among, vector, drivers, own.context().plan_hash, node_port_, options),
      own_(own.create_protocol(own_port_, options)) {}

void DriverProtocol::start() {
  if (progress_ == Progress::background) begin();
  own_->start();
}

/// The node's side needs the driver, or its thread, but not the driver's arrival.
void DriverProtocol::begin() {
  begun_ = true;
  node_.start();
  for (const auto& [from, words] : std::exchange(kept_, {})) node_.on_control(from, words);
}

void DriverProtocol::arrive() {
  if (!begun_) begin();
  own_->arrive();
  node_.arrive();
}

void DriverProtocol::completed(const Completion& completion) {
  if (completion.stranger >= 0) return own_->completed(completion);
  if (running_ == completion.token) running_.reset();
  Completion unmarked = completion;
  unmarked.token = completion.token / 2;
  const bool nodes = static_cast<Whose>(completion.token % 2) == Whose::node;
  nodes ? node_.completed(unmarked) : own_->completed(unmarked);
  next_local();
}

void DriverProtocol::on_control(Rank from, ControlWords words) {
  if (begun_) return node_.on_control(from, words);
  kept_.emplace_back(from, std::vector(words.begin(), words.end()));
}

Status DriverProtocol::status() const {
  for (const Status failed : {node_.status(), own_->status()}) {
    if (failed == Status::failed) return failed;
  }
  return node_.status() == Status::done ? own_->status() : Status::running;
}

const std::string& DriverProtocol::failure() const {
  return node_.status() == Status::failed ? node_.failure() : own_->failure();
}

std::string DriverProtocol::waiting_for() const {
  return node_.status() == Status::running ? node_.waiting_for() : own_->waiting_for();
}

// --- One transport for two ---

/// Runs the next local operation, if none is under way. Each of the two has one at a time.
void DriverProtocol::next_local() {
  for (std::optional<Posted>& local : locals_) {
    if (running_ || !local) continue;
    const Posted next = *local;
    local.reset();
    running_ = next.token;
    transport_.post(next.operation, next.token, next.options);
  }
}

/// Each of the two has one local operation at a time.
void DriverProtocol::Port::post(const Operation& operation, Token token, PostOptions options) {
  const Token marked = 2 * token + static_cast<Token>(whose_);
  if (!is_local(operation)) return driver_.transport_.post(operation, marked, options);
  driver_.locals_[static_cast<std::size_t>(whose_)] = {operation, marked, options};
  driver_.next_local();
}

void DriverProtocol::Port::send_control(Rank peer, ControlWords words) {
  driver_.transport_.send_control(peer, words);
}

}  // namespace latecomer
