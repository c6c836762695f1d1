#include "algorithms/nodes/driver_protocol.hpp"

namespace latecomer {

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
