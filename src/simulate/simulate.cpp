#include "simulate/simulate.hpp"

#include <algorithm>
#include <map>

#include "base/threads.hpp"
#include "simulate/virtual_network.hpp"

namespace latecomer {

Simulation simulate(const Executors& executors, const SimulationOptions& options) {
  Simulation result = begin_simulation(executors.size(), options);
  Placement nodes;
  for (const auto& executor : executors) nodes.push_back(memory_node(executor->context()));
  VirtualNetwork network(options, numbered(nodes));
  Protocols protocols;
  for (std::size_t rank = 0; rank < executors.size(); ++rank) {
    interruption_point();
    const auto me = static_cast<Rank>(rank);
    protocols.push_back(executors[rank]->create_protocol(network.transport(me), options.engine));
    network.attach(me, *protocols.back(), executors[rank]->context().plan_hash);
  }
  network.run(result);
  note_failures(protocols, result);
  return result;
}

Simulation simulate(std::span<const Program> programs, const SimulationOptions& options) {
  return simulate(executors_of(programs, options.network.eager_elements(options.element_bytes)),
                  options);
}

namespace {

/// The operations of one rank in the order in which it posted them.
class Record {
 public:
  /// Notes an operation that is posted now. As in programs, a message without elements is one of
  /// nothing, and other operations without elements are none. A signal has ended at once. An await
  /// does nothing before it ends, and is listed when it does: a rank may post it before its own
  /// operations on the flag. What waits for these two is known; the data that they tell of are not
  /// needed.
  void post(Operation operation, Token token) {
    const OpKind kind = operation.kind;
    const bool tells = kind == OpKind::signal || kind == OpKind::await;
    if (tells || (is_message(operation) && operation.data().empty())) {
      operation.source = operation.target = kNothing;
    }
    if (kind == OpKind::signal) return end(add(operation));
    if (kind == OpKind::await) {
      awaits_[token] = operation;
    } else if (kind == OpKind::accumulate || is_message(operation) || !operation.source.empty()) {
      at_[token] = add(operation);
    }
  }
  /// Notes the arrival, which waits for nothing and has ended at once.
  void arrive() {
    entries_.push_back({Operation{}, {}});
    end(entries_.size() - 1);
  }
  void completed(const Completion& completion) {
    if (const auto await = awaits_.extract(completion.token)) end(add(await.mapped()));
    const auto found = at_.find(completion.token);
    if (found == at_.end()) return;
    const std::size_t index = found->second;
    at_.erase(found);
    if (completion.busy) {
      entries_[index].dropped = true;  // not begun: it is posted again
    } else {
      end(index);
    }
  }
  [[nodiscard]] Program program(const RankContext& context) const {
    Program program;
    static_cast<RankContext&>(program) = context;
    std::vector<OpIndex> place(entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const Entry& entry = entries_[i];
      if (entry.dropped) continue;
      place[i] = static_cast<OpIndex>(program.operations.size());
      std::vector<OpIndex>& after = program.after.emplace_back();
      for (const std::size_t each : entry.after) after.push_back(place[each]);
      std::ranges::sort(after);
      program.operations.push_back(entry.operation);
    }
    return program;
  }

 private:
  struct Entry {
    Operation operation;
    std::vector<std::size_t> after;
    std::size_t ended_before = 0;  // how many operations had ended when it was posted
    bool dropped = false;
  };

  std::size_t add(const Operation& operation) {
    // Those that ended earlier are waited for by one that it waits for.
    const auto first = ended_.begin() + static_cast<std::ptrdiff_t>(implied_);
    entries_.push_back({operation, {first, ended_.end()}, ended_.size()});
    return entries_.size() - 1;
  }
  void end(std::size_t index) {
    ended_.push_back(index);
    implied_ = std::max(implied_, entries_[index].ended_before);
  }

  std::vector<Entry> entries_;
  std::map<Token, std::size_t> at_;    // the entries that have not ended
  std::map<Token, Operation> awaits_;  // that have not ended
  std::vector<std::size_t> ended_;     // in this order
  std::size_t implied_ = 0;
};

/// Passes everything on. All messages leave when their receive is posted, as if none could be
/// buffered: what a rank waits for then holds on every network.
class RecordingTransport final : public Transport {
 public:
  RecordingTransport(Transport& transport, Record& record)
      : transport_(transport), record_(record) {}

  void post(const Operation& operation, Token token, PostOptions options) override {
    record_.post(operation, token);
    options.paced = true;
    transport_.post(operation, token, options);
  }
  void settled(const Slice& result) override { transport_.settled(result); }
  void send_control(Rank peer, ControlWords words) override {
    transport_.send_control(peer, words);
  }

 private:
  Transport& transport_;
  Record& record_;
};

class RecordingProtocol final : public Protocol {
 public:
  RecordingProtocol(const Executor& executor, Transport& transport, Record& record,
                    const ProtocolOptions& options)
      : record_(record),
        transport_(transport, record),
        protocol_(executor.create_protocol(transport_, options)) {}

  void start() override { protocol_->start(); }
  void arrive() override {
    record_.arrive();
    protocol_->arrive();
  }
  void completed(const Completion& completion) override {
    record_.completed(completion);
    protocol_->completed(completion);
  }
  [[nodiscard]] bool uses_control() const override { return protocol_->uses_control(); }
  void on_control(Rank from, ControlWords words) override { protocol_->on_control(from, words); }
  [[nodiscard]] Status status() const override { return protocol_->status(); }
  [[nodiscard]] std::size_t done() const override { return protocol_->done(); }
  [[nodiscard]] const std::string& failure() const override { return protocol_->failure(); }
  [[nodiscard]] std::string waiting_for() const override { return protocol_->waiting_for(); }

 private:
  Record& record_;
  RecordingTransport transport_;
  std::unique_ptr<Protocol> protocol_;
};

class RecordingExecutor final : public Executor {
 public:
  RecordingExecutor(const Executor& executor, Record& record)
      : executor_(executor), record_(record) {}

  [[nodiscard]] const RankContext& context() const override { return executor_.context(); }
  [[nodiscard]] std::unique_ptr<Protocol> create_protocol(
      Transport& transport, const ProtocolOptions& options) const override {
    return std::make_unique<RecordingProtocol>(executor_, transport, record_, options);
  }

 private:
  const Executor& executor_;
  Record& record_;
};

}  // namespace

RecordedCall simulate_recorded(const Executors& executors, const SimulationOptions& options) {
  std::vector<Record> records(executors.size());
  Executors recording;
  for (std::size_t rank = 0; rank < executors.size(); ++rank) {
    recording.push_back(std::make_unique<RecordingExecutor>(*executors[rank], records[rank]));
  }
  RecordedCall call{simulate(recording, options), {}};
  for (std::size_t rank = 0; rank < executors.size(); ++rank) {
    call.programs.push_back(records[rank].program(executors[rank]->context()));
  }
  return call;
}

}  // namespace latecomer
