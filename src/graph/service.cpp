// The order in which resources serve activities, found by a queue of events.
#include <algorithm>
#include <queue>
#include <utility>

#include "base/threads.hpp"
#include "graph/activities.hpp"
#include "graph/resources.hpp"
#include "simulate/simulation.hpp"

namespace latecomer {
namespace {

Ticks ticks(Seconds seconds) { return to_ticks("time of a simulated activity", seconds); }

class Server {
 public:
  Server(const Activities& all, const Network& network)
      : all_(all),
        network_(network),
        missing_(all.size()),
        ready_(all.size()),
        tie_(all.size()),
        begin_(all.size(), kNotYet),
        ports_(all.ports),
        channels_(all.reverse.size()),
        ranks_(all.exits.size()),
        flags_(all.flags),
        memories_(all.shared_memories) {
    for (Port& port : ports_) port.free.assign(static_cast<std::size_t>(network.ports), 0);
    for (Node i = 0; i < all.size(); ++i) {
      missing_[i] = static_cast<std::uint32_t>(all.waits_of(i).size());
    }
  }

  std::vector<Seconds> run(std::span<const Seconds> arrivals) {
    for (std::size_t rank = 0; rank < arrivals.size(); ++rank) {
      ready_[all_.arrivals[rank]] = ticks(arrivals[rank]);
    }
    for (Node i = 0; i < all_.size(); ++i) {
      if (missing_[i] == 0 && all_.kind[i] != Activity::landing) push(ready_[i], Event::ready, i);
    }
    while (!events_.empty()) {
      now_ = events_.top().time;
      // All events of one time before any transfer starts, as on the virtual network.
      while (!events_.empty() && events_.top().time == now_) {
        const Event event = events_.top();
        events_.pop();
        handle(event);
      }
      for (const std::uint32_t port : changed_) start_from(ports_[port]);
      changed_.clear();
    }
    std::vector<Seconds> exits;
    for (const Node exit : all_.exits) {
      exits.push_back(begin_[exit] == kNotYet ? kNever : to_seconds(begin_[exit]));
    }
    return exits;
  }

 private:
  using Channel = resources::Channel;
  using Flag = resources::Flag;
  using Port = resources::Port;
  using Worker = resources::Worker;

  static constexpr Ticks kNotYet = -1;

  struct Event {
    enum Kind : std::uint8_t { ready, left, worked, memory };
    Ticks time = 0;
    std::uint64_t number = 0;
    Kind kind = ready;
    std::size_t id = 0;        // of a node or a memory
    std::uint64_t change = 0;  // of the memory's load
    bool operator>(const Event& other) const {
      if (time != other.time) return time > other.time;
      return number != other.number ? number > other.number : id > other.id;
    }
  };
  void push(Ticks time, Event::Kind kind, std::size_t id, std::uint64_t change = 0) {
    events_.push({time, number_++, kind, id, change});
  }

  void handle(const Event& event) {
    interruption_point();
    const auto node = static_cast<Node>(event.id);
    switch (event.kind) {
      case Event::ready:
        return begin(node);
      case Event::left:
        return leave(all_.messages[all_.place[node]]);
      case Event::worked:
        return worked(node);
      case Event::memory:
        return end_memory_work(event.id, event.change);
    }
  }

  void begin(Node node) {
    switch (all_.kind[node]) {
      case Activity::message:
      case Activity::local_message:
        return post(node);
      case Activity::sent:
        return;  // its message decides
      case Activity::increment:
        return increment(node);
      case Activity::notice: {
        Flag& flag = flags_[all_.awaited[all_.place[node]].flag];
        if (!notify(node, flag, false)) flag.awaiting.push_back(node);
        return;
      }
      case Activity::copy:
      case Activity::combine:
      case Activity::node_combine:
      case Activity::node_copy:
      case Activity::accumulate: {
        Worker& worker = worker_of(node);
        worker.ready.push(node);
        if (!worker.busy) start_work(worker);
        return;
      }
      default:
        serve(node);
        end(node, later(now_, taken(node)));
    }
  }

  void serve(Node node) {
    begin_[node] = now_;
    tell(begin_of(node), now_);
  }
  void end(Node node, Ticks time) { tell(end_of(node), time); }
  /// Activities that are ready at the same time come in the order in which their last moments were
  /// told of, as on the virtual network.
  void tell(Moment moment, Ticks time) {
    const std::uint64_t number = number_++;
    for (const Node node : all_.followers_of(moment)) {
      if (time >= ready_[node]) {
        tie_[node] = time > ready_[node] ? number : std::max(tie_[node], number);
        ready_[node] = time;
      }
      if (--missing_[node] == 0) events_.push({ready_[node], tie_[node], Event::ready, node, 0});
    }
  }
  [[nodiscard]] Ticks taken(Node node) const {
    return ticks(cost_of(all_.kind[node], network_).startup);
  }

  // --- Messages ---

  /// In the order of their channel.
  void post(Node node) {
    Channel& channel = channels_[message(node).channel];
    if (message(node).number != channel.posted) return channel.early.push_back(node);
    enqueue(node);
    for (auto next = channel.early.begin(); next != channel.early.end();) {
      if (message(*next).number != channel.posted) {
        ++next;
        continue;
      }
      const Node found = *next;
      channel.early.erase(next);
      enqueue(found);
      next = channel.early.begin();
    }
  }
  [[nodiscard]] const Activities::Message& message(Node node) const {
    return all_.messages[all_.place[node]];
  }
  void enqueue(Node node) {
    const Activities::Message& posted = message(node);
    Channel& channel = channels_[posted.channel];
    ++channel.posted;
    if (posted.rendezvous) ++channel.rendezvous;
    if (posted.buffered) buffer(node, channel);
    ports_[posted.out].waiting.push_back(node);
    changed_.push_back(posted.out);
  }
  /// The sender may go on at once if there is room.
  void buffer(Node node, Channel& channel) {
    const double bytes = all_.bytes[node];
    if (channel.buffered + bytes > static_cast<double>(network_.buffer)) return;
    channel.buffered += bytes;
    serve(node - 1);
    end(node - 1, now_);
  }
  void start_from(Port& port) {
    for (auto next = port.waiting.begin();
         next != port.waiting.end() && port.leaving < network_.ports;) {
      const Node node = *next;
      Channel& channel = channels_[message(node).channel];
      if (channel.leaving) {
        ++next;
        continue;
      }
      next = port.waiting.erase(next);
      start(node, port, channel);
    }
  }
  void start(Node node, Port& port, Channel& channel) {
    const Activities::Message& sent = message(node);
    const std::uint32_t reverse = all_.reverse[sent.channel];
    const bool exchanges = network_.exchange != 1 && sent.rendezvous && reverse != kNone &&
                           channels_[reverse].rendezvous > 0;
    double bytes = all_.bytes[node];
    if (all_.kind[node] == Activity::message) {
      bytes -= TokenBucket::take(port.out, ports_[sent.in].in, network_, now_, bytes);
    }
    const ActivityCost cost = cost_of(all_.kind[node], network_);
    const double times = exchanges ? network_.exchange : 1;
    const Ticks takes = ticks(times * (cost.startup + cost.per_byte * bytes));
    ++port.leaving;
    channel.leaving = true;
    serve(node);
    end(node, later(now_, takes));
    push(later(now_, takes), Event::left, node);
    Ticks& free = *std::ranges::min_element(ports_[sent.in].free);
    free = later(std::max(free, now_), takes);
    serve(node + 1);
    end(node + 1, free);
  }
  void leave(const Activities::Message& message) {
    Port& port = ports_[message.out];
    --port.leaving;
    changed_.push_back(message.out);
    channels_[message.channel].leaving = false;
    if (message.rendezvous) --channels_[message.channel].rendezvous;
    if (!message.buffered) return;
    const Node sent = message.node - 1;
    if (begin_[sent] != kNotYet) {
      channels_[message.channel].buffered -= all_.bytes[message.node];
      return;
    }
    serve(sent);
    end(sent, now_);
  }
  // --- Work: one combine or copy a rank at a time ---

  [[nodiscard]] Worker& worker_of(Node node) {
    return ranks_[static_cast<std::size_t>(all_.rank[node])];
  }
  void start_work(Worker& worker) {
    while (!worker.ready.empty()) {
      const Node node = worker.ready.top();
      worker.ready.pop();
      const Activity kind = all_.kind[node];
      if (kind != Activity::accumulate)
        return work(node, kind == Activity::copy || kind == Activity::node_copy);
      Flag& flag = flags_[all_.place[node]];
      if (!flag.held) return accumulate(node, flag);
      worker.refused.push_back(node);
    }
    if (worker.refused.empty()) return;
    const Node node = *std::ranges::min_element(worker.refused);
    std::erase(worker.refused, node);
    worker.busy = true;
    flags_[all_.place[node]].queue.push_back(node);
  }
  void accumulate(Node node, Flag& flag) {
    flag.held = true;
    work(node, !std::exchange(flag.accumulated, true));
  }
  void work(Node node, bool copies) {
    worker_of(node).busy = true;
    serve(node);
    const bool shared = all_.kind[node] >= Activity::node_combine;
    const auto [per_byte, share] = local_work(network_, copies, shared);
    const Ticks alone = ticks(per_byte * all_.bytes[node]);
    if (share == 0 || alone == 0) return push(later(now_, alone), Event::worked, node);
    const std::uint32_t memory = all_.memory[static_cast<std::size_t>(all_.rank[node])];
    memories_[memory].begin(now_, alone, share, {all_.rank[node], node});
    schedule_memory(memory);
  }
  void worked(Node node) {
    end(node, now_);
    Worker& worker = worker_of(node);
    worker.busy = false;
    for (const Node again : worker.refused) worker.ready.push(again);
    worker.refused.clear();
    if (all_.kind[node] == Activity::accumulate) {
      Flag& flag = flags_[all_.place[node]];
      flag.held = false;
      if (!flag.queue.empty()) {
        const Node next = flag.queue.front();
        flag.queue.pop_front();
        accumulate(next, flag);
      }
    }
    if (!worker.busy) start_work(worker);
  }
  void schedule_memory(std::size_t memory) {
    const MemoryLoad& load = memories_[memory];
    if (!load.idle()) push(load.next_end(), Event::memory, memory, load.changes());
  }
  void end_memory_work(std::size_t memory, std::uint64_t change) {
    MemoryLoad& load = memories_[memory];
    if (load.changes() != change) return;  // other work has begun, and moved the end
    const std::vector<MemoryLoad::Work> ended = load.end(now_);
    schedule_memory(memory);
    for (const MemoryLoad::Work& each : ended) worked(each.token);
  }

  // --- Flags ---

  void increment(Node node) {
    Flag& flag = flags_[all_.place[node]];
    ++flag.counted;
    serve(node);
    end(node, now_);
    std::erase_if(flag.awaiting, [&](Node notice) {
      return notify(notice, flag, all_.rank[notice] != all_.rank[node]);
    });
  }
  /// Returns false if the flag has not counted so far yet. An await that comes later sees it at
  /// once.
  bool notify(Node node, const Flag& flag, bool others) {
    if (flag.counted < all_.awaited[all_.place[node]].count) return false;
    serve(node);
    end(node, others ? later(now_, taken(node)) : now_);
    return true;
  }

  const Activities& all_;
  const Network& network_;
  std::vector<std::uint32_t> missing_;  // moments
  std::vector<Ticks> ready_;
  std::vector<std::uint64_t> tie_;
  std::vector<Ticks> begin_;
  std::vector<Port> ports_;
  std::vector<Channel> channels_;
  std::vector<Worker> ranks_;
  std::vector<Flag> flags_;
  std::vector<MemoryLoad> memories_;
  std::vector<std::uint32_t> changed_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t number_ = 0;
  Ticks now_ = 0;
};

}  // namespace

std::vector<Seconds> serve(const Activities& all, std::span<const Seconds> arrivals,
                           const Network& network) {
  return Server(all, network).run(arrivals);
}

}  // namespace latecomer
