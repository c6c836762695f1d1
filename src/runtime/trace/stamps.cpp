#include "runtime/trace/stamps.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <new>

#include "base/threads.hpp"
#include "lateness/calls.hpp"
#include "runtime/comm_state.hpp"
#include "runtime/trace/recorder.hpp"

namespace latecomer::stamps {
namespace {

constexpr std::size_t kMostRelated = 256;  // sets of members that are compared with each other

struct Kept {
  std::mutex guard;
  bool on = false;
  Moment begin;
  std::deque<CommStamps> all;           // their addresses stay
  std::size_t stamps = 0;               // in all of them
  std::size_t members = 0;              // in all of `by`
  CommStamps* further = nullptr;        // stands for all of which nothing is kept
  std::map<std::uint64_t, Members> by;  // key
  std::vector<std::string_view> names;  // of collectives
};

Kept& kept() { return lasting<Kept>(); }

CommStamps& further(Kept& all) {
  if (all.further == nullptr) all.further = &all.all.emplace_back(0, CommStamps::Which{}, nullptr);
  return *all.further;
}

bool holds(const Members& all, const Members& some) {
  return std::ranges::includes(all.sorted, some.sorted);
}

/// Finds out which members are among which.
void relate(Kept& all, Members& fresh) {
  fresh.within.push_back(&fresh);
  fresh.sorted = fresh.ranks;
  std::ranges::sort(fresh.sorted);
  if (all.by.size() > kMostRelated) return;
  for (auto& [key, other] : all.by) {
    if (&other == &fresh) continue;
    if (holds(other, fresh)) fresh.within.push_back(&other);
    if (holds(fresh, other)) other.within.push_back(&fresh);
  }
}

/// When this rank would have come, had it spent no time in MPI since the members were together.
std::int64_t ready(const Kept& all, const Members& members, const Stamp& stamp) {
  const Moment* last = &all.begin;
  for (const Members* const each : members.within) {
    if (each->together.exit > last->exit) last = &each->together;
  }
  if (last->thread != &inside) return stamp.arrival;
  return std::clamp(stamp.arrival - (inside - last->inside), std::min(last->exit, stamp.arrival),
                    stamp.arrival);
}

CommStamps& introduce(Kept& all, const CommState& state) {
  const auto ranks = static_cast<std::size_t>(state.ranks);
  if (all.all.size() >= kMostComms || all.members + ranks > kMostMembers) return further(all);
  std::vector<std::int32_t> members = members_of(state.comm);
  const std::uint64_t key = key_of(members);
  const auto [found, fresh] = all.by.try_emplace(key);
  Members& same = found->second;
  if (fresh) {
    all.members += ranks;
    same.ranks = std::move(members);
    relate(all, same);
  }
  const std::uint64_t name = common_name(state);
  const CommStamps::Which which{name, name == 0 ? same.unnamed++ : 0};
  return all.all.emplace_back(key, which, &same);
}

/// The place of its name; the same text is mostly at the same address.
std::uint32_t id_of(Kept& all, std::string_view collective) {
  const auto same = [&](std::string_view name) {
    return name.data() == collective.data() && name.size() == collective.size();
  };
  auto found = std::ranges::find_if(all.names, same);
  if (found == all.names.end()) found = std::ranges::find(all.names, collective);
  if (found == all.names.end()) found = all.names.insert(found, collective);
  return static_cast<std::uint32_t>(found - all.names.begin());
}

/// Makes the largest sample smaller.
void make_room(Kept& all) {
  const auto most = std::max_element(all.all.begin(), all.all.end(), [](auto& a, auto& b) {
    return a.kept().size() < b.kept().size();
  });
  all.stamps -= most->kept().size();
  most->thin();
  all.stamps += most->kept().size();
}

/// All bits of the number decide about each bit: calls of a loop have numbers with equal last bits.
/// (The finalizer of splitmix64.)
std::uint64_t mixed(std::uint64_t number) {
  number = (number + 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebULL;
  return number ^ (number >> 31);
}

}  // namespace

void CommStamps::add(const Stamp& stamp) {
  ++calls_;
  if (members_ == nullptr || (mixed(stamp.sequence) & mask_) != 0) return;
  try {
    kept_.push_back(stamp);
  } catch (const std::bad_alloc&) {
    give_up();
  }
}

void CommStamps::reduce_to(std::uint64_t mask) {
  mask_ = mask;
  std::erase_if(kept_, [&](const Stamp& each) { return (mixed(each.sequence) & mask) != 0; });
  kept_.shrink_to_fit();
}

void CommStamps::give_up() {
  members_ = nullptr;
  std::vector<Stamp>().swap(kept_);
}

void keep() {
  kept().on = true;
  kept().begin = {trace::now_ns(), inside, &inside};
}
bool are_kept() { return kept().on; }

void add(CommState& state, std::string_view collective, Stamp stamp) try {
  if (state.ranks == 1) return;  // nobody waits
  Kept& all = kept();
  const std::lock_guard lock(all.guard);
  if (state.trace.stamps == nullptr) state.trace.stamps = &introduce(all, state);
  CommStamps& own = *state.trace.stamps;
  stamp.collective = id_of(all, collective);
  if (Members* const members = own.members()) {
    stamp.ready = ready(all, *members, stamp);
    inside += stamp.exit - stamp.arrival;
    if (synchronises(collective)) members->together = {stamp.exit, inside, &inside};
  }
  all.stamps -= own.kept().size();
  own.add(stamp);
  if (own.kept().size() >= kMostOfOne) own.thin();
  all.stamps += own.kept().size();
  if (all.stamps >= kMostOfAll) make_room(all);
} catch (const std::bad_alloc&) {
  return;  // other ranks know more calls of this communicator then, so none of them is used
}

void lose() {
  Kept& all = kept();
  const std::lock_guard lock(all.guard);
  further(all).add({});
}

std::deque<CommStamps>& all() { return kept().all; }
std::string_view name_of(std::uint32_t collective) { return kept().names[collective]; }

}  // namespace latecomer::stamps
