#include "dropin/pending.hpp"

namespace latecomer::messages {

PendingTable::Chain& PendingTable::chain_of(std::uint64_t key) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;  // handles differ in few bits
  return chains_[(key * kGolden >> 32) & (chains_.size() - 1)];
}

PendingTable::Link PendingTable::find(std::uint64_t key, const void* place) {
  if (used_ == 0) return {};
  Link oldest;
  Link same_place;  // the last one: the program's variable holds that
  Link link{chain_of(key).first, kNone};
  for (int alike = 0; link.at != kNone && alike < kAlike;) {
    const Pending& each = pool_[link.at];
    if (each.key == key) {
      if (oldest.at == kNone) oldest = link;
      if (each.place == place) same_place = link;
      ++alike;
    }
    link = {each.next, link.at};
  }
  return same_place.at != kNone ? same_place : oldest;
}

std::uint32_t PendingTable::free_place() {
  if (free_ != kNone) {
    const std::uint32_t at = free_;
    free_ = pool_[at].next;
    return at;
  }
  pool_.emplace_back();
  return static_cast<std::uint32_t>(pool_.size() - 1);
}

/// To the end of its chain, which so has what is older first.
void PendingTable::append(std::uint32_t at) {
  Chain& chain = chain_of(pool_[at].key);
  pool_[at].next = kNone;
  (chain.first == kNone ? chain.first : pool_[chain.last].next) = at;
  chain.last = at;
}

void PendingTable::grow() {
  constexpr std::size_t kFirst = 256;
  std::vector<Chain> old(chains_.empty() ? kFirst : 2 * chains_.size());
  old.swap(chains_);
  for (const Chain& chain : old) {
    for (std::uint32_t at = chain.first; at != kNone;) {
      const std::uint32_t next = pool_[at].next;
      append(at);
      at = next;
    }
  }
}

bool PendingTable::add(const Pending& fresh) {
  const std::lock_guard hold(guard_);
  if (used_ >= kMost) return false;
  if (used_ >= chains_.size()) grow();
  const std::uint32_t at = free_place();
  pool_[at] = fresh;
  append(at);
  ++used_;
  return true;
}

Pending PendingTable::take(Link link) {
  Pending& taken = pool_[link.at];
  Chain& chain = chain_of(taken.key);
  (link.before == kNone ? chain.first : pool_[link.before].next) = taken.next;
  if (chain.last == link.at) chain.last = link.before;
  taken.next = free_;
  free_ = link.at;
  --used_;
  return taken;
}

std::optional<Pending> PendingTable::complete(std::uint64_t key, const void* place) {
  const std::lock_guard hold(guard_);
  const Link found = find(key, place);
  if (found.at == kNone) return std::nullopt;
  if (!pool_[found.at].is_persistent()) return take(found);
  Pending completed = pool_[found.at];
  pool_[found.at].active = false;
  pool_[found.at].cancelled = false;
  return completed;
}

std::optional<Pending> PendingTable::erase(std::uint64_t key, const void* place) {
  const std::lock_guard hold(guard_);
  const Link found = find(key, place);
  if (found.at == kNone) return std::nullopt;
  return take(found);
}

}  // namespace latecomer::messages
