#include "runtime/trace/recorder.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <tuple>
#include <vector>

#include "base/reproducible.hpp"
#include "runtime/comm_state.hpp"
#include "runtime/trace/members.hpp"
#include "runtime/trace/process_file.hpp"

namespace latecomer::trace {
namespace {

constexpr std::size_t kListed = std::tuple_size_v<decltype(Members::ranks)>;

}  // namespace

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

std::uint32_t Recorder::add(const CommState& state) {
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
  record.name = names_.id(name);
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
