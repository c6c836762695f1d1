#include "runtime/trace/recorder.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <tuple>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/reproducible.hpp"
#include "latecomer/latecomer.h"
#include "runtime/comm_state.hpp"
#include "runtime/connection/introduction.hpp"
#include "runtime/report/ledger.hpp"
#include "runtime/report/log.hpp"
#include "runtime/report/stats_report.hpp"
#include "runtime/settings/environment.hpp"
#include "transports/mpi/communicators.hpp"

namespace latecomer::trace {

std::uint32_t Names::site(const void* address) try {
  if (address == last_site_.first) return last_site_.second;
  const auto found = sites_.find(address);
  const bool is_known = found != sites_.end();
  const std::uint32_t number = is_known             ? found->second
                               : address == nullptr ? 0
                                                    : id(name_of_site(address));
  if (!is_known && sites_.size() < kMostTexts) sites_.emplace(address, number);
  last_site_ = {address, number};
  return number;
} catch (const std::bad_alloc&) {
  return 0;
}

}  // namespace latecomer::trace

namespace latecomer {

std::vector<std::int32_t> members_of(MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL;
  PMPI_Comm_group(comm, &group);
  return places_in_world(group);
}

std::uint64_t common_name(const CommState& state) {
  return state.identity ? state.identity->name : state.intercommunicator ? name_of(state.comm) : 0;
}

std::uint64_t key_of(const std::vector<std::int32_t>& members) { return fnv1a(std::span(members)); }

}  // namespace latecomer

namespace latecomer::trace {
namespace {

constexpr const char* kFolder = "LATECOMER_TRACE";
constexpr const char* kBytes = "LATECOMER_TRACE_BYTES";

void (*report)(const std::string& line) = log_line;

Header header_of_process() {
  Header header = header_of(rank_in(MPI_COMM_WORLD), ranks_of(MPI_COMM_WORLD), host_in_mpi(),
                            latecomer_version());
  header.clock = introduction_of_place().clock;
  return header;
}

/// Reports what is not in the file, since it is full or could not grow.
void report_missing(const std::string& what, int obstacle) {
  const std::string why = obstacle != 0 ? "cannot grow (" + meaning_of_error(obstacle) + ')'
                                        : std::string("is full: set ") + kBytes + " to more";
  report(what + " are not in the trace, whose file " + why);
}

constexpr std::size_t kListed = std::tuple_size_v<decltype(Members::ranks)>;

}  // namespace

std::uint64_t limit_of_file() {
  const auto text = environment(kBytes);
  if (!text) return kDefaultBytes;
  try {
    return read_limit(*text);
  } catch (const Error& error) {
    report_unused(kBytes, error.what());
    return kDefaultBytes;
  }
}

std::unique_ptr<File> make_file() {
  const auto pattern = environment(kFolder);
  if (!pattern) return nullptr;
  Header header = header_of_process();
  header.limit = limit_of_file();
  const std::string folder = from_first_folder(stats_file_name(*pattern, header.rank));
  std::string why;
  auto made = File::make(folder, header, why);
  if (!made) {
    report(std::string(kFolder) + ": rank " + std::to_string(header.rank) +
           " cannot write a trace in '" + folder + "' (" + why + ')');
  }
  return made;
}

void report_to(void (*to)(const std::string& line)) { report = to; }

void Recorder::introduce(CommState& state) {
  const std::lock_guard lock(guard_);
  const std::atomic_ref id(state.trace.id);
  if (id.load(std::memory_order_relaxed) == TraceOfComm::kNone) {
    id.store(add(state), std::memory_order_release);
  }
}

void Recorder::end() {
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
  if (!missing.empty()) report_missing(missing, file_->obstacle());
}

std::uint32_t Recorder::introduce_made_of(CommState& state, std::string_view kind) {
  const std::vector<std::int32_t> members = members_of(state.comm);
  const std::lock_guard lock(guard_);
  const std::uint64_t which[] = {key_of(members), common_name(state), fnv1a(kind),
                                 state.trace.objects};
  Communicator record;
  record.rank = state.rank;
  record.key = fnv1a(std::span(which));
  constexpr std::uint64_t kMostNumbered = 1000;  // each name takes room for one text of the file
  std::string name(kind);
  if (state.trace.objects <= kMostNumbered) name += ' ' + std::to_string(state.trace.objects);
  const std::string parent = name_in_mpi(state.comm);
  record.name = names_.id(parent.empty() ? name : name + " of " + parent);
  return add(record, members);
}

std::uint32_t Recorder::add(CommState& state) {
  std::vector<std::int32_t> members;
  Communicator record;
  record.rank = state.rank;
  if (!state.intercommunicator) {
    members = members_of(state.comm);
  } else {
    const Places places = places_of(state.comm);
    if (places.all.empty()) return communicators_;  // no record names it
    members.assign(places.all.begin(), places.all.end());
    const auto own = static_cast<std::int32_t>(places.own);
    state.trace.others = static_cast<std::int32_t>(members.size()) - state.ranks;
    state.trace.others_first = own == 0 ? state.ranks : 0;
    record.rank += own;
  }
  const std::uint64_t whose[] = {key_of(members), common_name(state)};
  record.key = whose[1] == 0 ? whose[0] : fnv1a(std::span(whose));
  record.name = names_.id(name_in_mpi(state.comm));
  return add(record, members);
}

std::uint32_t Recorder::add(Communicator& record, const std::vector<std::int32_t>& members) {
  record.number = made_[record.key]++;
  record.id = communicators_++;
  record.size = static_cast<std::int32_t>(members.size());
  record.first = members[0];
  record.stride = members.size() > 1 ? members[1] - members[0] : 1;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto there = record.first + static_cast<std::int32_t>(i) * record.stride;
    if (members[i] != there) record.listed = Listed::by_ranks;
  }
  const std::size_t lists = (members.size() + kListed - 1) / kListed;
  const bool listed = record.listed == Listed::by_ranks;
  if (!file_->has_room(1 + (listed ? lists : 0))) return record.id;
  file_->append(record);
  for (std::size_t i = 0; listed && i < members.size(); i += kListed) {
    Members list;
    list.communicator = record.id;
    list.first = static_cast<std::uint32_t>(i);
    list.count = static_cast<std::uint8_t>(std::min(kListed, members.size() - i));
    std::copy_n(&members[i], list.count, list.ranks.begin());
    file_->append(list);
  }
  return record.id;
}

}  // namespace latecomer::trace
