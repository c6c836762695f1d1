#include "simulate/recorded.hpp"

#include <algorithm>
#include <map>

#include "simulate/simulate.hpp"

namespace latecomer {
namespace {

/// The operations of one rank in the order in which it posted them.
class Record {
 public:
  /// Notes an operation that is posted now. As in programs, a message without elements is one of
  /// nothing, and other operations without elements are none.
  void post(Operation operation, Token token) {
    const bool sends = operation.kind == OpKind::send;
    Slice& data = sends ? operation.source : operation.target;
    if (is_message(operation) && data.empty()) data = kNothing;
    if (moves(operation.kind) && operation.source.empty()) return;
    at_[token] = add(operation);
  }
  /// Notes an await. It does nothing before it ends, and is listed when it does: a rank may post it
  /// before its own operations on the flag.
  void post_await(const Operation& operation, Token token) { awaits_[token] = operation; }
  /// Notes a signal, which touches no data itself and has ended at once.
  void signal(const Operation& operation) { end(add(operation)); }
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

  static bool moves(OpKind kind) { return kind == OpKind::combine || kind == OpKind::copy; }
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

  void send(const Message& message, std::uint64_t plan_hash, Token token) override {
    record_.post(operation(OpKind::send, message.peer, message.data, {}), token);
    transport_.send(paced(message), plan_hash, token);
  }
  void recv(const Message& message, Token token) override {
    record_.post(operation(OpKind::recv, message.peer, {}, message.data), token);
    transport_.recv(paced(message), token);
  }
  void combine(const Slice& left, const Slice& right, Into into, Token token) override {
    Operation combined = operation(OpKind::combine, -1, left, right);
    combined.into = into;
    record_.post(combined, token);
    transport_.combine(left, right, into, token);
  }
  void copy(const Slice& from, const Slice& to, Token token) override {
    record_.post(operation(OpKind::copy, -1, from, to), token);
    transport_.copy(from, to, token);
  }
  void signal(const FlagUse& use, Token token) override {
    record_.signal(operation(OpKind::signal, use));
    transport_.signal(use, token);
  }
  void await(const FlagUse& use, Token token) override {
    record_.post_await(operation(OpKind::await, use), token);
    transport_.await(use, token);
  }
  void accumulate(const FlagUse& use, bool waits, Token token) override {
    record_.post(operation(OpKind::accumulate, use), token);
    transport_.accumulate(use, waits, token);
  }
  void settled(const Slice& result) override { transport_.settled(result); }
  void send_control(Rank peer, ControlWords words) override {
    transport_.send_control(peer, words);
  }

 private:
  static Message paced(Message message) {
    message.paced = true;
    return message;
  }
  static Operation operation(OpKind kind, Rank peer, const Slice& source, const Slice& target) {
    Operation made;
    made.kind = kind;
    made.peer = peer;
    made.source = source;
    made.target = target;
    return made;
  }
  static Operation operation(OpKind kind, const FlagUse& use) {
    // What waits for a signal or an await is known; the data that they tell of are not needed.
    const bool moves = kind == OpKind::accumulate;
    Operation made =
        operation(kind, -1, moves ? use.source : kNothing, moves ? use.target : kNothing);
    made.flag = use.flag;
    made.count = use.count;
    return made;
  }

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
