#include "nccl/recorder.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <variant>

namespace latecomer::nccl {
namespace {

using trace::Doing;
using trace::Status;

constexpr std::size_t kMostInside = 256;
// A device's clock that is further off from where it began was set anew.
constexpr std::int64_t kMostApart = 60'000'000'000;

struct Named {
  std::string_view nccl, ours;
  bool of_each;  // its count is that of one rank's part
  bool has_root;
};
constexpr std::array<Named, 8> kCollectives = {{{"AllReduce", "allreduce", false, false},
                                                {"AllGather", "allgather", true, false},
                                                {"ReduceScatter", "reduce_scatter", true, false},
                                                {"Broadcast", "bcast", false, true},
                                                {"Reduce", "reduce", false, true},
                                                {"AlltoAll", "alltoall", true, false},
                                                {"Gather", "gather", true, true},
                                                {"Scatter", "scatter", true, true}}};

/// The bytes of an element by the name of its type, as in ncclFloat16 and ncclFloat8e4m3; 0: not
/// known.
std::int32_t bytes_of(const char* type) {
  if (type == nullptr) return 0;
  const char* const digits = std::strpbrk(type, "0123456789");
  const long bytes = digits != nullptr ? std::strtol(digits, nullptr, 10) / 8 : 0;
  return bytes <= INT32_MAX ? static_cast<std::int32_t>(bytes) : 0;
}

/// The bytes of so many elements, so many times; -1: not known.
std::int64_t product(std::size_t count, std::int32_t bytes, std::int32_t times) {
  std::int64_t found = 0;
  if (bytes == 0 || __builtin_mul_overflow(count, bytes, &found) ||
      __builtin_mul_overflow(found, times, &found)) {
    return -1;
  }
  return found;
}

}  // namespace

Recorder::Recorder(std::unique_ptr<trace::File> file) : file_(std::move(file)) {
  (void)texts_(*file_, "");
  for (std::size_t at = 0; at < kCollectives.size(); ++at) {
    collectives_[at] = texts_(*file_, kCollectives[at].ours);
  }
  inside_.reserve(kMostInside);
}

// ---- events

/// A time of the device on the process's clock: it is moved by one constant, so that its pace
/// stays, and readers compare clocks.
std::int64_t Recorder::time_of(std::uint64_t device_ns) {
  const std::int64_t now = trace::now_ns();
  if (device_ns == 0) return now;
  // The device's clock may show anything, so they are subtracted without a sign.
  const auto own = static_cast<std::uint64_t>(now);
  const auto fresh = static_cast<std::int64_t>(own - device_ns);
  std::int64_t ahead = ahead_.load(std::memory_order_relaxed);
  if (ahead == kUnknown && ahead_.compare_exchange_strong(ahead, fresh)) ahead = fresh;
  const auto apart = static_cast<std::int64_t>(device_ns + static_cast<std::uint64_t>(ahead) - own);
  return apart > -kMostApart && apart < kMostApart ? now + apart : now;
}

std::uint32_t Recorder::algorithm(const char* name, const char* protocol) {
  if (name == nullptr || protocol == nullptr) return 0;
  std::array<char, 48> text{};
  std::size_t length = 0;
  for (const char* const part : {name, " ", protocol}) {
    for (const char* each = part; *each != '\0' && length + 1 < text.size(); ++each) {
      text[length++] = static_cast<char>(*each >= 'A' && *each <= 'Z' ? *each - 'A' + 'a' : *each);
    }
  }
  std::size_t known = algorithms_known_.load(std::memory_order_acquire);
  for (std::size_t at = 0; at < known; ++at) {
    if (algorithms_[at].name == text) return algorithms_[at].text;
  }
  const std::lock_guard lock(guard_);
  if (ended_) return 0;
  known = algorithms_known_.load(std::memory_order_relaxed);
  const std::uint32_t number = texts_(*file_, {text.data(), length});
  if (known < algorithms_.size()) {
    algorithms_[known] = {text, number};
    algorithms_known_.store(known + 1, std::memory_order_release);
  }
  return number;
}

trace::Call Recorder::call_of(const NcclEvent& event, Comm& comm) {
  const auto& own = event.coll;
  const std::string_view function = own.function != nullptr ? own.function : "unknown";
  trace::Call call;
  call.served = trace::Served::other;
  call.communicator = comm.id;
  call.sequence = comm.calls.fetch_add(1, std::memory_order_relaxed);
  call.algorithm = algorithm(own.algorithm, own.protocol);
  const auto* const named = std::ranges::find(kCollectives, function, &Named::nccl);
  if (named == kCollectives.end()) {
    const std::lock_guard lock(guard_);
    if (!ended_) call.collective = texts_(*file_, function);
    return call;
  }
  call.collective = collectives_[static_cast<std::size_t>(named - kCollectives.begin())];
  call.element_bytes = bytes_of(own.type);
  call.bytes = product(own.count, call.element_bytes, named->of_each ? comm.ranks : 1);
  if (named->has_root && own.root >= 0 && own.root < comm.ranks) call.root = own.root;
  return call;
}

void* Recorder::begin_kernel(Comm& comm) {
  if (!comm.is_open.load(std::memory_order_acquire)) return nullptr;
  const std::uint64_t number = comm.kernels.fetch_add(1, std::memory_order_relaxed) + 1;
  return Handle{Handle::kernel, comm.slot, 0, number}.pack();
}

void Recorder::miss(Comm& comm) {
  const std::lock_guard lock(comm.recorder->guard_);
  ++comm.recorder->untimed_;
}

void* Recorder::begin(Comm& comm, const NcclEvent& event, bool is_message, const void* kernel) {
  if (!comm.is_open.load(std::memory_order_acquire)) return nullptr;
  About about;
  if (is_message) {
    const auto& own = event.p2p;
    const bool known = own.function != nullptr && own.peer >= 0 && own.peer < comm.ranks;
    if (!known || own.peer == comm.rank) return nullptr;  // it waits for nobody
    trace::Message message;
    message.what =
        std::strcmp(own.function, "Recv") == 0 ? trace::What::receive : trace::What::send;
    message.communicator = comm.id;
    message.peer = own.peer;
    message.bytes = std::max<std::int64_t>(0, product(own.count, bytes_of(own.type), 1));
    message.order = comm.recorder->order_.fetch_add(1, std::memory_order_relaxed);
    about.channels = own.channels;
    about.record = message;
  } else {
    about.channels = event.coll.channels;
    about.record = comm.recorder->call_of(event, comm);
  }
  const Handle group = Handle::unpack(kernel);
  if (group.kind == Handle::kernel && group.slot == comm.slot) about.kernel = group.number;
  const std::uint64_t number = comm.next.fetch_add(1, std::memory_order_relaxed);
  if (number - comm.done.load(std::memory_order_acquire) >= Comm::kOperations) {
    comm.recorder->make_room(comm, number);
  }
  comm.at(number).begin(number, about);
  return Handle{Handle::operation, comm.slot, 0, number}.pack();
}

void* Recorder::start(const void* operation, std::uint8_t channel, std::uint64_t device_ns) {
  Handle handle = Handle::unpack(operation);
  Comm* const comm = handle.kind == Handle::operation ? comm_of(handle) : nullptr;
  if (comm == nullptr) return nullptr;
  Operation& own = comm->at(handle.number);
  if (!own.is(handle.number)) return nullptr;
  Recorder& recorder = *comm->recorder;
  if (own.start(recorder.time_of(device_ns))) recorder.entered(*comm, own);
  handle.kind = Handle::channel;
  handle.part = channel;
  return handle.pack();
}

void Recorder::stop(const void* channel, std::uint64_t device_ns) {
  const Handle handle = Handle::unpack(channel);
  Comm* const comm = handle.kind == Handle::channel ? comm_of(handle) : nullptr;
  if (comm == nullptr) return;
  Operation& own = comm->at(handle.number);
  if (!own.is(handle.number) || own.has_stopped(handle.part)) return;
  Recorder& recorder = *comm->recorder;
  const bool is_last = own.stop(handle.part, recorder.time_of(device_ns));
  if (is_last) recorder.completed(*comm, own, handle.number);
}

// ---- the file

void Recorder::entered(const Comm& comm, const Operation& operation) {
  const std::lock_guard lock(guard_);
  // Another thread may have told of its end meanwhile.
  if (ended_ || operation.is_complete() || inside_.size() >= kMostInside) return;
  Status status;
  status.since = operation.begin();
  if (const auto* const message = std::get_if<trace::Message>(&operation.about().record)) {
    status.doing = Doing::message;
    status.what = static_cast<std::uint8_t>(message->what);
    status.peer = message->peer;
  } else {
    const auto& call = std::get<trace::Call>(operation.about().record);
    status.doing = Doing::collective;
    status.sequence = static_cast<std::int64_t>(call.sequence);
    status.communicator = comm.id;
    status.name = call.collective;
  }
  inside_.push_back({&operation, status});
  file_->set(status);
}

void Recorder::completed(Comm& comm, Operation& operation, std::uint64_t number) {
  const std::lock_guard lock(guard_);
  if (ended_ || !operation.is(number)) return;
  operation.complete();
  comm.latest = std::max(comm.latest, number + 1);
  comm.latest_kernel = std::max(comm.latest_kernel, operation.about().kernel);
  left(operation, operation.end());
  while (comm.done.load(std::memory_order_relaxed) < comm.latest) {
    const std::uint64_t first = comm.done.load(std::memory_order_relaxed);
    const Operation& own = comm.at(first);
    if (!own.is(first)) break;  // another thread begins it
    const std::uint64_t kernel = own.about().kernel;
    // The device carries out one kernel after the other, and what NCCL tells of one comes before
    // the end of the second next.
    const bool is_over = kernel != 0 && kernel + 1 < comm.latest_kernel;
    if (!own.is_complete() && !is_over) break;
    write_first(comm);
  }
}

void Recorder::make_room(Comm& comm, std::uint64_t number) {
  const std::lock_guard lock(guard_);
  while (number - comm.done.load(std::memory_order_relaxed) >= Comm::kOperations) {
    write_first(comm);
  }
}

/// The device has left an operation. It may still be in others.
void Recorder::left(const Operation& operation, std::int64_t end) {
  const auto found = std::ranges::find(inside_, &operation, &Inside::operation);
  if (found == inside_.end()) return;
  inside_.erase(found);
  Status status;
  status.since = end;
  file_->set(inside_.empty() ? status : inside_.back().status);
}

/// Writes the first operation that is not in the file, with what is known of it.
void Recorder::write_first(Comm& comm) {
  const std::uint64_t number = comm.done.load(std::memory_order_relaxed);
  Operation& own = comm.at(number);
  if (own.is(number)) {
    if (!own.is_complete()) left(own, std::max(own.end(), own.begin()));
    if (!ended_) write(comm, own);
    own.forget();
  }
  comm.done.store(number + 1, std::memory_order_release);
}

void Recorder::write(Comm& comm, const Operation& operation) {
  const std::int64_t end = std::max(operation.begin(), operation.end());
  const bool timed = operation.has_times();
  if (!timed) ++untimed_;
  if (const auto* const known = std::get_if<trace::Message>(&operation.about().record)) {
    if (timed && file_->has_room_for_message()) {
      trace::Message message = *known;
      message.posted = message.begin = operation.begin();
      message.end = end;
      file_->append(message);
      last_ = std::max(last_, end);
    } else {
      file_->lose_message(known->order);
      if (timed) ++full_;
    }
    return;
  }
  if (!timed) return;
  auto call = std::get<trace::Call>(operation.about().record);
  // Those of one group run at one time, on other channels each: they follow each other in the file.
  call.arrival = std::max(operation.begin(), comm.last_exit);
  call.exit = std::max(call.arrival, end);
  comm.last_exit = call.exit;
  last_ = std::max(last_, call.exit);
  if (file_->has_room(1)) {
    file_->append(call);
  } else {
    file_->drop();
    ++full_;
  }
}

}  // namespace latecomer::nccl
