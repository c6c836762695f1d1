#include "worlds/mpi_state.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace latecomer::worlds {
namespace {

MpiState* state = nullptr;

}  // namespace

void set_here(MpiState* made) { state = made; }
MpiState* Within::operator->() const { return state; }
MpiState& Within::operator*() const { return *state; }

Within::Within(const char* name, Time span) {
  state->mine().last_call = name;
  state->mine().polls = false;
  state->scheduler.spend(span);
}

bool fits(const Message& message, int source, int tag) {
  return (source == MPI_ANY_SOURCE || source == message.source) &&
         (tag == MPI_ANY_TAG || tag == message.tag);
}

Comm::Comm(int number, std::vector<int> ranks) : handle(number), members(std::move(ranks)) {
  for (std::size_t i = 0; i < members.size(); ++i) places[members[i]] = static_cast<int>(i);
}

int Comm::rank_of(int member) const {
  const auto found = places.find(member);
  return found == places.end() ? -1 : found->second;
}

MpiState::MpiState(Scheduler& the_scheduler, const Net& the_net, int count)
    : scheduler(the_scheduler), net(the_net), ranks(count) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), 0);
  end = std::make_unique<Comm>(0, all);
  comms[MPI_COMM_WORLD] = std::make_shared<Comm>(MPI_COMM_WORLD, all);
}

Comm* MpiState::find(MPI_Comm handle) {
  // Each rank's MPI_COMM_SELF is a communicator of its own, under a handle that is negative here.
  const int key = handle == MPI_COMM_SELF ? -1 - scheduler.me() : handle;
  if (handle == MPI_COMM_SELF && !comms.contains(key)) {
    comms[key] = std::make_shared<Comm>(key, std::vector{scheduler.me()});
  }
  const auto found = comms.find(key);
  if (found == comms.end() || me_in(*found->second) < 0) return nullptr;
  auto& known = local(*found->second);
  if (handle == MPI_COMM_WORLD || handle == MPI_COMM_SELF) known.alive = true;
  return known.alive ? found->second.get() : nullptr;
}

std::shared_ptr<Comm> MpiState::make_comm(std::vector<int> members) {
  const int handle = static_cast<int>(0x84000000U) | next_comm++;
  return comms[handle] = std::make_shared<Comm>(handle, std::move(members));
}

MPI_Request MpiState::add(std::unique_ptr<Request> request) {
  auto& all = mine().requests;
  request->owner = scheduler.me();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == nullptr) {
      all[i] = std::move(request);
      return static_cast<int>(0x98000000U) | static_cast<int>(i);
    }
  }
  all.push_back(std::move(request));
  return static_cast<int>(0x98000000U) | static_cast<int>(all.size() - 1);
}

Request* MpiState::request(MPI_Request handle) {
  const auto index = static_cast<std::size_t>(handle & 0x03ffffff);
  auto& all = mine().requests;
  return index < all.size() ? all[index].get() : nullptr;
}

void MpiState::release(MPI_Request handle) { mine().requests[handle & 0x03ffffff].reset(); }

Time MpiState::cost(std::size_t size) {
  std::uniform_real_distribution<double> more(1, 1 + net.jitter);
  double times = more(scheduler.random());
  if (net.slow_one_in > 0 && scheduler.random()() % net.slow_one_in == 0) times *= 1000;
  return static_cast<Time>(
      (static_cast<double>(net.start_up) + net.byte * static_cast<double>(size)) * times);
}

void MpiState::send(const Comm& comm, Message message, int to, Time begin) {
  const int member = comm.members[to];
  auto& last = last_[{comm.handle, scheduler.me(), member}];
  const bool waits = message.send != nullptr && message.from != nullptr;
  last = std::max(begin + cost(waits ? 0 : message.size), last + 1);
  ++messages;
  bytes += message.size;
  scheduler.call(last, [this, context = comm.handle, member, held = std::move(message)]() mutable {
    deliver(context, member, std::move(held));
  });
}

void MpiState::deliver(int context, int to, Message message) {
  if (scheduler.dead(to)) return;
  auto& waiting = ranks[to].posted[context];
  for (auto each = waiting.begin(); each != waiting.end(); ++each) {
    if (!fits(message, (**each).source, (**each).tag)) continue;
    Request& receive = **each;
    waiting.erase(each);
    match(to, receive, message);
    return;
  }
  ranks[to].arrived[context].push_back(std::move(message));
  scheduler.wake(to, scheduler.now());
}

void MpiState::match(int to, Request& receive, Message& message) {
  Time done = scheduler.now();
  const char* from = message.from != nullptr ? message.from : message.data.data();
  if (message.send != nullptr) {
    if (message.from != nullptr) done += cost(message.size);
    message.send->done = done;
    scheduler.wake(message.send->owner, done);
  }
  const std::size_t size = std::min(message.size, receive.size);
  if (size > 0) std::memcpy(receive.buffer, from, size);
  if (message.size > receive.size) receive.error = MPI_ERR_TRUNCATE;
  receive.status.MPI_SOURCE = message.source;
  receive.status.MPI_TAG = message.tag;
  receive.status.MPI_ERROR = receive.error;
  receive.status.count_lo = static_cast<int>(size);
  receive.status.count_hi_and_cancelled = 0;
  receive.done = done;
  scheduler.wake(to, done);
}

void MpiState::wait(Request& request) {
  while (request.done > scheduler.now()) scheduler.pause(request.done);
}

Meeting& MpiState::meet(Comm& comm, const std::string& name, Meeting::Part part,
                        const std::function<bool(int)>& needs) {
  const auto number = local(comm).calls;
  Meeting& meeting = comm.meetings[number];
  const int me = me_in(comm);
  if (meeting.parts.empty()) {
    meeting.name = name;
    meeting.parts.resize(comm.members.size());
  }
  if (meeting.name != name && !comm.spoiled) {
    faults.push_back("rank " + std::to_string(scheduler.me()) + " calls " + name +
                     " where others call " + meeting.name);
  }
  part.at = scheduler.now();
  meeting.parts[me] = std::move(part);
  for (const int rank : meeting.waits) scheduler.wake(rank, scheduler.now());
  const auto complete = [&] {
    for (std::size_t i = 0; i < meeting.parts.size(); ++i) {
      if (!meeting.parts[i] && needs(static_cast<int>(i))) return false;
    }
    return true;
  };
  if (!complete()) meeting.waits.push_back(scheduler.me());
  mine().polls = false;  // whatever it did before, as in functions of attributes
  while (!complete()) scheduler.pause(kNever);
  return meeting;
}

void MpiState::part(Comm& comm) {
  auto& number = local(comm).calls;
  const auto found = comm.meetings.find(number++);
  if (++found->second.left == static_cast<int>(comm.members.size())) comm.meetings.erase(found);
}

std::int64_t MpiState::size_of(MPI_Datatype type) {
  const auto found = mine().types.find(type);
  if (found != mine().types.end()) return found->second.size;
  if (type == MPI_DOUBLE_INT) return sizeof(std::pair<double, int>);
  return (type & 0xff00) >> 8;
}

}  // namespace latecomer::worlds
