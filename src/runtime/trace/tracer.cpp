#include "runtime/trace/tracer.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <functional>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/parse.hpp"
#include "base/writing.hpp"
#include "latecomer/latecomer.h"
#include "runtime/attachment.hpp"
#include "runtime/call/operators.hpp"
#include "runtime/comm_state.hpp"
#include "runtime/connection/introduction.hpp"
#include "runtime/finalize.hpp"
#include "runtime/report/log.hpp"
#include "runtime/report/stats_file.hpp"
#include "runtime/report/stats_report.hpp"
#include "runtime/settings/environment.hpp"
#include "runtime/trace/members.hpp"
#include "runtime/trace/stamps.hpp"
#include "runtime/trace/trace_file.hpp"

namespace latecomer::trace {
static_assert(TracedComm::kNone == TraceOfComm::kNone);
namespace {

constexpr const char* kFolder = "LATECOMER_TRACE";
constexpr const char* kBytes = "LATECOMER_TRACE_BYTES";
constexpr std::uint64_t kDefaultBytes = 64 << 20;
constexpr std::uint64_t kFewestBytes = 64 << 10;
constexpr std::size_t kMaxTexts = 1 << 14;
constexpr std::size_t kLongestText = 1 << 10;  // bytes

void (*report)(const std::string& line) = log_line;

std::int64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}
template <std::size_t size>
void write(std::array<char, size>& to, std::string_view text) {
  std::copy_n(text.data(), std::min(text.size(), size - 1), to.data());
}

Header header_of_process() {
  Header header;
  PMPI_Comm_rank(MPI_COMM_WORLD, &header.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &header.ranks);
  header.pid = static_cast<std::uint64_t>(getpid());
  header.clock = introduction_of_place().clock;
  header.begin = clock_ns(CLOCK_MONOTONIC);
  header.real = clock_ns(CLOCK_REALTIME) - header.begin;
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  PMPI_Get_processor_name(name, &length);
  write(header.host, name);
  write(header.library, latecomer_version());
  return header;
}

}  // namespace

std::int64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }

std::uint64_t limit_of_file() {
  const auto text = environment(kBytes);
  if (!text) return kDefaultBytes;
  try {
    const auto bytes = static_cast<std::uint64_t>(parse_bytes("bytes", *text));
    if (bytes < kFewestBytes || bytes > kMostFileBytes) {
      throw Error("bytes", *text, "a size from 64KiB to 4GiB");
    }
    return bytes;
  } catch (const Error& error) {
    report_unused(kBytes, error.what());
    return kDefaultBytes;
  }
}

namespace {

std::unique_ptr<File> make_file() {
  const auto pattern = environment(kFolder);
  if (!pattern) return nullptr;
  Header header = header_of_process();
  header.limit = limit_of_file();
  const std::string folder = from_first_folder(stats_file_name(*pattern, header.rank));
  const std::string name = "rank-" + std::to_string(header.rank) + ".trace";
  std::string why;
  auto made = File::make(folder, name, header, header.limit, why);
  if (!made) {
    report(std::string(kFolder) + ": rank " + std::to_string(header.rank) +
           " cannot write a trace in '" + folder + "' (" + why + ')');
  }
  return made;
}

/// Finds texts without making a string.
struct HashOfText {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};

class Tracer {
 public:
  explicit Tracer(std::unique_ptr<File> file) : file_(std::move(file)) { (void)text(""); }

  /// Sets the communicator's id if it has none. Several threads may do so.
  void introduce(CommState& state) {
    const std::lock_guard lock(guard_);
    const std::atomic_ref id(state.trace.id);
    if (id.load(std::memory_order_relaxed) == TraceOfComm::kNone) {
      id.store(add(state), std::memory_order_release);
    }
  }

  /// A call is entered that is no collective.
  void enter(Status status, const void* where) {
    const std::lock_guard lock(guard_);
    if (ended_) return;
    status.site = site(where);
    file_->set(status);
  }
  /// A collective is entered. Its name and place get their numbers.
  void enter(Call& record, std::string_view collective, const void* where) {
    const std::lock_guard lock(guard_);
    if (ended_) return;
    record.collective = text(collective);
    record.site = site(where);
    Status status;
    status.doing = Doing::collective;
    status.since = record.arrival;
    status.sequence = static_cast<std::int64_t>(record.sequence);
    status.communicator = record.communicator;
    status.name = record.collective;
    status.site = record.site;
    file_->set(status);
  }
  /// It has ended, with no record that tells.
  void leave() {
    const std::lock_guard lock(guard_);
    if (!ended_) left(now_ns());
  }
  /// One that was entered has ended.
  void add(Call& record, std::string_view algorithm, std::string_view op) {
    const std::lock_guard lock(guard_);
    if (ended_) return;
    record.algorithm = text(algorithm);
    record.op = text(op);
    left(record.exit);
    if (has_room_or_drops(1)) file_->append(record);
  }
  /// Another call has completed one.
  void add(Call& record, std::string_view collective, const void* where,
           const Completion& completion) {
    const std::lock_guard lock(guard_);
    if (ended_) return;
    record.collective = text(collective);
    record.algorithm = text("native");
    record.site = site(where);
    left(record.exit);
    if (!has_room_or_drops(2)) return;
    file_->append(record);
    file_->append(completion);
  }
  void add(const Clock& record) {
    const std::lock_guard lock(guard_);
    if (!ended_ && file_->has_room(1)) file_->append(record);
  }
  void add(Message& record, const void* where) {
    const std::lock_guard lock(guard_);
    if (ended_) return;
    record.site = site(where);
    left(record.end);
    if (file_->has_room_for_message()) {
      file_->append(record);
    } else {
      record.what == What::probe ? file_->lose_message() : file_->lose_message(record.order);
      full_of_messages_ = true;
    }
  }
  void add(const Other& record, std::uint32_t order) {
    const std::lock_guard lock(guard_);
    if (ended_) return;
    if (file_->has_room_for_message()) {
      file_->append(record);
    } else {
      file_->lose_message(order);
      full_of_messages_ = true;
    }
  }
  void look_at_messages() {
    const std::lock_guard lock(guard_);
    file_->look_at_messages();
  }
  template <class... Order>
  void lose_message(Order... order) {
    const std::lock_guard lock(guard_);
    if (!ended_) file_->lose_message(order...);
  }
  void end() {
    const std::lock_guard lock(guard_);
    if (ended_) return;
    ended_ = true;
    file_->end(now_ns());
    std::string missing;
    if (full_of_messages_) {
      missing =
          std::to_string(file_->messages_lost()) + " records of messages, probes and other waits";
    }
    if (file_->dropped() > 0) {
      missing += (missing.empty() ? "" : " and ") + std::to_string(file_->dropped()) + " calls";
    }
    if (!missing.empty()) tell_missing(missing);
  }

 private:
  /// The process is in no call that may wait, since then.
  void left(std::int64_t end) {
    Status status;
    status.since = end;
    file_->set(status);
  }
  bool has_room_or_drops(std::uint64_t records) {
    if (file_->has_room(records)) return true;
    file_->drop();
    return false;
  }
  void tell_missing(const std::string& what) {
    const std::string why = file_->obstacle() != 0
                                ? "cannot grow (" + meaning_of_error(file_->obstacle()) + ')'
                                : std::string("is full: set ") + kBytes + " to more";
    report(what + " are not in the trace, whose file " + why);
  }
  std::uint32_t add(const CommState& state) {
    const std::vector<std::int32_t> members = members_of(state.comm, state.ranks);
    Communicator record;
    const std::uint64_t whose[] = {key_of(members), common_name(state)};
    record.key = whose[1] == 0 ? whose[0] : fnv1a(std::span(whose));
    record.number = made_[record.key]++;
    record.id = communicators_++;
    record.size = state.ranks;
    record.rank = state.rank;
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    PMPI_Comm_get_name(state.comm, name, &length);
    record.name = text(name);
    record.first = members[0];
    record.stride = members.size() > 1 ? members[1] - members[0] : 1;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const auto there = record.first + static_cast<std::int32_t>(i) * record.stride;
      if (members[i] != there) record.listed = 1;
    }
    const std::size_t lists = (members.size() + kListed - 1) / kListed;
    if (!file_->has_room(1 + (record.listed != 0 ? lists : 0))) return record.id;
    file_->append(record);
    for (std::size_t i = 0; record.listed != 0 && i < members.size(); i += kListed) {
      Members list;
      list.communicator = record.id;
      list.first = static_cast<std::uint32_t>(i);
      list.count = static_cast<std::uint8_t>(std::min(kListed, members.size() - i));
      std::copy_n(&members[i], list.count, list.ranks.begin());
      file_->append(list);
    }
    return record.id;
  }

  /// The id of a text; 0, the empty text's, where there is no room.
  std::uint32_t text(std::string_view words) try {
    words = words.substr(0, kLongestText);
    if (const auto found = texts_.find(words); found != texts_.end()) return found->second;
    constexpr std::size_t kPiece = sizeof(Text::piece);
    const std::size_t pieces = std::max<std::size_t>(1, (words.size() + kPiece - 1) / kPiece);
    if (texts_.size() >= kMaxTexts || !file_->has_room(pieces)) return 0;
    const auto id = static_cast<std::uint32_t>(texts_.size());
    texts_.emplace(words, id);
    for (std::size_t i = 0; i < pieces; ++i) {
      const std::string_view piece = words.substr(i * kPiece, kPiece);
      Text record;
      record.id = id;
      record.bytes = static_cast<std::uint8_t>(piece.size());
      record.last = i + 1 == pieces ? 1 : 0;
      std::copy(piece.begin(), piece.end(), record.piece.begin());
      file_->append(record);
    }
    return id;
  } catch (const std::bad_alloc&) {
    return 0;
  }
  std::uint32_t site(const void* address) try {
    if (address == last_site_.first) return last_site_.second;
    const auto found = sites_.find(address);
    const bool is_known = found != sites_.end();
    const std::uint32_t id = is_known             ? found->second
                             : address == nullptr ? 0
                                                  : text(name_of_site(address));
    if (!is_known && sites_.size() < kMaxTexts) sites_.emplace(address, id);
    last_site_ = {address, id};
    return id;
  } catch (const std::bad_alloc&) {
    return 0;
  }

  static constexpr std::size_t kListed = std::tuple_size_v<decltype(Members::ranks)>;

  std::mutex guard_;
  std::unique_ptr<File> file_;
  bool ended_ = false;
  bool full_of_messages_ = false;
  std::uint32_t communicators_ = 0;
  std::map<std::uint64_t, std::uint32_t> made_;  // communicators so far, by their key
  std::unordered_map<std::string, std::uint32_t, HashOfText, std::equal_to<>> texts_;
  std::unordered_map<const void*, std::uint32_t> sites_;
  std::pair<const void*, std::uint32_t> last_site_{nullptr, 0};
};

Tracer* tracer() {
  static Tracer* const made = [] {
    auto file = make_file();
    if (!file) return static_cast<Tracer*>(nullptr);
    auto* const fresh = new Tracer(std::move(file));  // calls may come after static objects
    return fresh;
  }();
  if (made != nullptr) {
    static const bool ends = end_with_mpi([] { tracer()->end(); });
    (void)ends;
  }
  return made;
}

std::string_view name_of(MPI_Op op) {
  if (op == MPI_OP_NULL) return "";
  static const std::pair<MPI_Op, const char*> kKnown[] = {
      {MPI_SUM, "sum"},   {MPI_MAX, "max"},   {MPI_MIN, "min"},       {MPI_PROD, "prod"},
      {MPI_LAND, "land"}, {MPI_LOR, "lor"},   {MPI_LXOR, "lxor"},     {MPI_BAND, "band"},
      {MPI_BOR, "bor"},   {MPI_BXOR, "bxor"}, {MPI_MAXLOC, "maxloc"}, {MPI_MINLOC, "minloc"}};
  for (const auto& [known, name] : kKnown) {
    if (op == known) return name;
  }
  int commutes = 1;
  PMPI_Op_commutative(op, &commutes);
  return commutes != 0 ? "user's" : "user's, ordered";
}

std::int64_t size_of(MPI_Datatype type) {
  int size = 0;
  if (type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &size) != MPI_SUCCESS) return 0;
  return size;
}

/// Sets what is known of the data before the call: bytes of the whole vector, of an element.
void describe(Call& record, const latecomer::Call& call, const CommState& state) {
  const bool at_root = state.rank == call.root;
  if (rooted(call.collective)) record.root = call.root;
  const bool sends = call.collective == Collective::gather && !at_root;
  const bool receives = call.collective == Collective::scatter && !at_root;
  const bool of_receiver =
      receives || (parted(call.collective) && !sends && call.collective != Collective::scatter);
  const std::int64_t size = size_of(of_receiver ? call.recvtype : call.sendtype);
  record.element_bytes = static_cast<std::int32_t>(size);
  if (call.parts_differ()) {
    if (call.recvcounts == kNoCounts) return;
    record.bytes = 0;
    for (Rank rank = 0; rank < state.ranks; ++rank) record.bytes += call.part_count(rank) * size;
    return;
  }
  const Count count = of_receiver ? call.recvcount : call.sendcount;
  record.bytes = count * size * (parted(call.collective) ? state.ranks : 1);
}

/// "ring", and "as=x segments=4" or "segments=4", as "x:segments=4" or "ring:segments=4". Empty
/// where there is no memory.
std::string with_parameters(std::string_view algorithm, std::string_view parameters) try {
  std::string name(algorithm);
  std::string rest(parameters);
  if (rest.starts_with("as=")) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    name = rest.substr(3, end - 3);
    rest = end < rest.size() ? rest.substr(end + 1) : "";
  }
  std::replace(rest.begin(), rest.end(), ' ', ':');
  return rest.empty() ? name : name + ':' + rest;
} catch (const std::bad_alloc&) {
  return {};
}

/// Writes the communicator's clock where it has changed.
void note_clock(CommState& state) {
  if (!state.resources || !state.resources->clocks.ready()) return;
  const ClockModel& model = state.resources->clocks.model();
  if (state.trace.clock == model.origin) return;
  state.trace.clock = model.origin;
  Clock record;
  record.communicator = state.trace.id;
  record.origin = static_cast<std::int64_t>(model.origin * 1e9);
  record.offset = model.offset;
  record.error = model.error;
  record.drift = model.drift;
  record.drift_error = model.drift_error;
  tracer()->add(record);
}

/// Gives the communicator its id, if there is a file.
void introduce(CommState& state) {
  if (is_on() && state.trace.id == TraceOfComm::kNone) tracer()->introduce(state);
}

}  // namespace

void look_at_messages() { tracer()->look_at_messages(); }

TracedComm comm_of_messages(MPI_Comm comm) {
  CommState* const state = state_for_call(comm);
  if (state == nullptr || state->intercommunicator) return {};
  const std::atomic_ref id(state->trace.id);
  if (id.load(std::memory_order_acquire) == TraceOfComm::kNone) tracer()->introduce(*state);
  return {id.load(std::memory_order_acquire), state->ranks};
}

void add(Message& record, const void* site) { tracer()->add(record, site); }
void add(const Other& record, std::uint32_t order) { tracer()->add(record, order); }
void enter(const Status& status, const void* site) { tracer()->enter(status, site); }
void leave() { tracer()->leave(); }
std::shared_ptr<std::uint64_t> calls_on(MPI_Comm comm) { return state_for_call(comm)->trace.calls; }

void add_begun(const BegunCall& call) {
  Call record;
  record.served = Served::other;
  record.overlaps = 1;
  record.communicator = call.communicator;
  record.sequence = call.sequence;
  record.arrival = call.arrival;
  record.exit = call.exit;
  Completion completion;
  completion.communicator = call.communicator;
  completion.sequence = call.sequence;
  completion.begin = call.completed;
  completion.between = call.between;
  tracer()->add(record, call.collective, call.site, completion);
}

void lose_message() { tracer()->lose_message(); }
void lose_message(std::uint32_t order) { tracer()->lose_message(order); }

void report_to(void (*to)(const std::string& line)) { report = to; }
bool is_on() { return tracer() != nullptr; }
void end() {
  if (is_on()) tracer()->end();
}
bool is_recording() { return stamps::are_kept() || is_on(); }

TracedCall::TracedCall(CommState& state, const latecomer::Call& call)
    : state_(state),
      collective_(call.parts_differ() ? "allgatherv" : to_string(call.collective)),
      op_(call.op),
      site_(call.site) {
  introduce(state);
  describe(record_, call, state);
  record_.sequence = (*state.trace.calls)++;
  enter();
}

TracedCall::TracedCall(CommState& state, std::string_view collective, std::int64_t bytes,
                       const void* site)
    : state_(state), collective_(collective), site_(site) {
  introduce(state);
  record_.bytes = bytes;
  record_.sequence = (*state.trace.calls)++;
  enter();
}

void TracedCall::enter() {
  record_.communicator = state_.trace.id;
  record_.arrival = now_ns();
  if (!is_on()) return;
  tracer()->enter(record_, collective_, site_);
  is_inside_ = true;
}

TracedCall::~TracedCall() {
  if (is_inside_) tracer()->leave();
}

void TracedCall::end(Served served, std::string_view algorithm, std::string_view parameters) {
  record_.exit = now_ns();
  if (stamps::are_kept()) {
    stamps::add(state_, collective_,
                {record_.arrival, record_.exit, record_.bytes, site_,
                 static_cast<std::uint32_t>(record_.sequence), 0});
  }
  if (!is_inside_) return;
  record_.served = served;
  tracer()->add(record_, with_parameters(algorithm, parameters), name_of(op_));
  is_inside_ = false;
  note_clock(state_);
}

void TracedCall::end_as_recorded() {
  const CallCounter counter = state_.trace.counter;
  if (counter == &latecomer_stats::handled) {
    const Collective collective =
        parse_collective(collective_ == "allgatherv" ? "allgather" : collective_);
    return end(Served::handled, state_.choice(collective).algorithm->name, state_.parameters);
  }
  end(counter == &latecomer_stats::native   ? Served::native
      : counter == &latecomer_stats::failed ? Served::failed
                                            : Served::fallback);
}

}  // namespace latecomer::trace
