#include "nccl/recorder.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "base/file_pattern.hpp"
#include "base/parse.hpp"
#include "base/writing.hpp"

namespace latecomer::nccl {
namespace {

using trace::Doing;
using trace::Status;

constexpr const char* kFolder = "LATECOMER_TRACE";
constexpr const char* kBytes = "LATECOMER_TRACE_BYTES";
// An operation that this many later ones of its communicator overtook has lost an event: the device
// carries them out in turn, but for those of one group, and tells of 64 of a channel at most.
constexpr std::uint64_t kBehind = 64;
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

void report(const std::string& line) {
  (void)write_all(STDERR_FILENO, "latecomer: " + line + '\n');
}

std::int64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}
std::int64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }

std::optional<std::string> variable(const char* name) {
  const char* const found = secure_getenv(name);
  if (found == nullptr || *found == '\0') return std::nullopt;
  return std::string(found);
}

std::optional<std::int32_t> whole_number(const char* name) {
  const auto text = variable(name);
  const bool digits = text && text->size() < 8 &&
                      std::ranges::all_of(*text, [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) return std::nullopt;
  return static_cast<std::int32_t>(std::strtol(text->c_str(), nullptr, 10));
}

struct Place {
  std::int32_t rank, ranks;
};

/// This process's place in the job: what the launcher says, else that in the communicator.
Place place_in_job(Place in_communicator) {
  constexpr std::pair<const char*, const char*> kLaunchers[] = {
      {"RANK", "WORLD_SIZE"},  // torchrun, and what programs set for PyTorch
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      {"PMI_RANK", "PMI_SIZE"},
      {"SLURM_PROCID", "SLURM_NTASKS"}};
  for (const auto& [rank, ranks] : kLaunchers) {
    const auto own = whole_number(rank);
    const auto all = whole_number(ranks);
    if (own && all && *own < *all && *all >= in_communicator.ranks) return {*own, *all};
  }
  return in_communicator;
}

/// The bytes of an element by the name of its type, as in ncclFloat16 and ncclFloat8e4m3.
std::int64_t bytes_of(const char* type) {
  if (type == nullptr) return 0;
  const char* const digits = std::strpbrk(type, "0123456789");
  return digits != nullptr ? std::strtol(digits, nullptr, 10) / 8 : 0;
}

std::int64_t product(std::size_t count, std::int64_t bytes, std::int64_t times) {
  constexpr std::size_t kMost = std::size_t{1} << 48;
  if (bytes <= 0 || count > kMost) return -1;
  return static_cast<std::int64_t>(count) * bytes * times;
}

std::unique_ptr<trace::File> make_file(Place in_communicator) {
  const Place place = place_in_job(in_communicator);
  const auto pattern = variable(kFolder);
  if (!pattern) {
    if (place.rank == 0) {
      report(std::string(kFolder) + " names no folder: the calls of NCCL are not recorded");
    }
    return nullptr;
  }
  trace::Header header;
  header.rank = place.rank;
  header.ranks = place.ranks;
  header.pid = static_cast<std::uint64_t>(getpid());
  header.begin = now_ns();
  header.real = clock_ns(CLOCK_REALTIME) - header.begin;
  header.messages = 1;
  header.limit = trace::kDefaultBytes;
  if (const auto text = variable(kBytes)) try {
      header.limit = trace::read_limit(*text);
    } catch (const Error& error) {
      if (place.rank == 0) report(std::string(kBytes) + " is not used: " + error.what());
    }
  char host[64] = "";
  gethostname(host, sizeof host - 1);
  trace::write_text(header.host, host);
  trace::write_text(header.library, LATECOMER_VERSION " in NCCL");
  const std::string folder = expanded(*pattern, place.rank, variable);
  const std::string name = "rank-" + std::to_string(place.rank) + ".trace";
  std::string why;
  auto made = trace::File::make(folder, name, header, header.limit, why);
  if (!made) {
    report(std::string(kFolder) + ": rank " + std::to_string(place.rank) +
           " cannot write a trace of NCCL in '" + folder + "' (" + why + ')');
  }
  return made;
}

std::atomic<Recorder*> of_process{nullptr};

}  // namespace

// ---- the process's recorder

Recorder::Recorder(std::unique_ptr<trace::File> file) : file_(std::move(file)) {
  (void)texts_(*file_, "");
  for (std::size_t at = 0; at < kCollectives.size(); ++at) {
    collectives_[at] = texts_(*file_, kCollectives[at].ours);
  }
  inside_.reserve(kMostInside);
}

Recorder* Recorder::get(std::int32_t ranks, std::int32_t rank) {
  static Recorder* const made = [&]() -> Recorder* {
    auto file = make_file({rank, ranks});
    if (!file) return nullptr;
    auto* const fresh = new Recorder(std::move(file));  // events may come after static objects
    of_process.store(fresh, std::memory_order_release);
    (void)pthread_atfork(nullptr, nullptr, [] { Recorder::made()->leave_to_parent(); });
    return fresh;
  }();
  return made;
}

Recorder* Recorder::made() { return of_process.load(std::memory_order_acquire); }

void Recorder::end() {
  if (is_copy_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(guard_);
  if (ended_) return;
  for (std::uint64_t at = 0; at < made_; ++at) {
    Comm& comm = *comms_[at].load(std::memory_order_relaxed);
    while (comm.done.load() < comm.next.load()) write_first(comm);
  }
  ended_ = true;
  file_->end(std::max(now_ns(), last_));
  if (full_ > 0) {
    report(std::to_string(full_) + " records of NCCL's calls are not in the trace, whose file " +
           (file_->obstacle() != 0 ? "cannot grow (" + meaning_of_error(file_->obstacle()) + ')'
                                   : std::string("is full: set ") + kBytes + " to more"));
  }
  if (untimed_ > 0) {
    report(
        std::to_string(untimed_) +
        " calls of NCCL are not in the trace: the device did not tell when they began and ended");
  }
}

// ---- communicators

Comm* Recorder::open(std::uint64_t key, const char* name, std::int32_t ranks, std::int32_t rank) {
  const std::lock_guard lock(guard_);
  if (is_off() || ranks < 1 || rank < 0 || rank >= ranks) return nullptr;
  Comm* own = nullptr;
  for (std::uint64_t at = 0; at < made_; ++at) {
    Comm* const each = comms_[at].load(std::memory_order_relaxed);
    if (!each->is_open.load(std::memory_order_relaxed)) {
      own = each;
    } else if (each->key == key && each->rank != rank) {
      report("this process is several ranks of a communicator of NCCL: one of them is recorded");
      return nullptr;
    }
  }
  if (own == nullptr) {
    if (made_ >= comms_.size()) return nullptr;
    own = new Comm(made_);
    comms_[made_++].store(own, std::memory_order_release);
  }
  trace::Communicator record;
  record.listed = trace::Listed::by_files;
  record.together = 1;
  record.id = described_++;
  record.key = key;
  record.number = numbers_[key]++;
  record.size = ranks;
  record.rank = rank;
  const bool is_named = name != nullptr && *name != '\0';
  record.name = texts_(*file_, is_named ? name : "communicator " + format_hex(key));
  if (!file_->has_room(1)) return nullptr;
  file_->append(record);
  own->id = record.id;
  own->key = key;
  own->ranks = ranks;
  own->rank = rank;
  own->calls.store(0, std::memory_order_relaxed);
  own->last_exit = 0;
  own->is_open.store(true, std::memory_order_release);
  ++open_;
  file_->set_end(0);
  return own;
}

void Recorder::close(Comm& comm) {
  if (is_copy_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(guard_);
  if (!comm.is_open.exchange(false) || ended_) return;
  while (comm.done.load() < comm.next.load()) write_first(comm);
  if (--open_ == 0) file_->set_end(std::max(now_ns(), last_));
}

// ---- events

/// Of the process's clock, which the device's one is moved to by the same time always: so its pace
/// stays, and readers compare clocks.
std::int64_t Recorder::time_of(std::uint64_t device_ns) {
  const std::int64_t now = now_ns();
  if (device_ns == 0) return now;
  const auto device = static_cast<std::int64_t>(device_ns);
  std::int64_t ahead = ahead_.load(std::memory_order_relaxed);
  if (ahead == kUnknown && ahead_.compare_exchange_strong(ahead, now - device)) {
    ahead = now - device;
  }
  const std::int64_t time = device + ahead;
  return std::abs(time - now) < kMostApart ? time : now;
}

Comm* Recorder::comm_of(const Handle& handle) const {
  Comm* const comm = comms_[handle.slot].load(std::memory_order_acquire);
  return comm != nullptr && comm->is_open.load(std::memory_order_acquire) ? comm : nullptr;
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
  if (is_off()) return 0;
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
    if (!is_off()) call.collective = texts_(*file_, function);
    return call;
  }
  call.collective = collectives_[static_cast<std::size_t>(named - kCollectives.begin())];
  const std::int64_t bytes = bytes_of(own.type);
  call.element_bytes = static_cast<std::int32_t>(bytes);
  call.bytes = product(own.count, bytes, named->of_each ? comm.ranks : 1);
  if (named->has_root && own.root >= 0 && own.root < comm.ranks) call.root = own.root;
  return call;
}

void* Recorder::begin(Comm& comm, const NcclEvent& event, bool is_message) {
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
    message.order = order_.fetch_add(1, std::memory_order_relaxed);
    about = {own.channels, message};
  } else {
    about = {event.coll.channels, call_of(event, comm)};
  }
  const std::uint64_t number = comm.next.fetch_add(1, std::memory_order_relaxed);
  if (number - comm.done.load(std::memory_order_acquire) >= Comm::kOperations) {
    make_room(comm, number);
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
  if (own.start(time_of(device_ns))) entered(*comm, own);
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
  if (own.stop(handle.part, time_of(device_ns))) completed(*comm, own, handle.number);
}

// ---- the file

void Recorder::entered(const Comm& comm, const Operation& operation) {
  const std::lock_guard lock(guard_);
  if (is_off() || inside_.size() >= kMostInside) return;
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
  if (is_off() || !operation.is(number)) return;
  operation.complete();
  comm.latest = std::max(comm.latest, number + 1);
  left(operation, operation.end());
  while (comm.done.load(std::memory_order_relaxed) < comm.latest) {
    const std::uint64_t first = comm.done.load(std::memory_order_relaxed);
    const Operation& own = comm.at(first);
    if (!(own.is(first) && own.is_complete()) && first + kBehind >= comm.latest) break;
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
    if (!is_off()) write(comm, own);
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
