// What the ranks tell each other about blocks of calls: they go on meanwhile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "forecast/call_sequence.hpp"
#include "telemetry/call_series.hpp"
#include "transports/mpi/backoff.hpp"
#include "transports/mpi/mailbox.hpp"

namespace latecomer {

/// Of the communicators that use a link one after the other. It keeps nothing of MPI's that would
/// outlive a communicator of the program.
class BlockExchange {
 public:
  explicit BlockExchange(const Link& link)
      : mailbox_(link, Tags::kBlocks), me_(link.me()), ranks_(link.ranks()) {}

  /// Tells the other ranks about a block of this class, on the link's communicator number `owner`.
  /// Not before what they told of the class's last one was taken.
  void begin(std::uint64_t owner, CallKey key, const LastCalls& mine);
  [[nodiscard]] bool begun(std::uint64_t owner, CallKey key) const {
    const auto found = told_.find({owner, key});
    return found != told_.end() && found->second.begun;
  }
  /// Returns true once all ranks have told of the block, if this one has, or MPI failed.
  [[nodiscard]] bool ended(std::uint64_t owner, CallKey key);
  /// MPI's code of the first failure.
  [[nodiscard]] int code() const { return mailbox_.error(); }
  /// What they have told, by rank; after it has ended.
  [[nodiscard]] std::vector<LastCalls> take(std::uint64_t owner, CallKey key);
  /// A communicator ends. Waits, so long at most, for ranks that have not told of their last
  /// blocks. What they tell later is dropped.
  void end(std::uint64_t owner, Seconds at_most);
  /// True if messages may be under way that this rank will not receive.
  [[nodiscard]] bool leaves_messages() const { return outstanding_; }
  /// Drops what was told of other classes than those that are `known`.
  template <class Known>
  void drop_unless(Known&& known);

 private:
  struct Message {
    std::uint64_t owner = 0;
    CallKey key = 0;
    LastCalls calls;
  };
  using Queue = std::vector<LastCalls>;  // two at most
  struct Told {
    bool begun = false;        // by this rank
    std::vector<Queue> ranks;  // of this block, and of the next one
  };
  using Class = std::pair<std::uint64_t, CallKey>;

  Told& told(const Class& of) {
    Told& found = told_[of];
    found.ranks.resize(static_cast<std::size_t>(ranks_));
    return found;
  }
  [[nodiscard]] static bool complete(const Told& told) {
    return !told.begun || std::ranges::none_of(told.ranks, &Queue::empty);
  }
  void receive();

  Mailbox mailbox_;
  Rank me_;
  Rank ranks_;
  std::uint64_t ended_ = 0;  // the last communicator that has ended
  bool outstanding_ = false;
  std::map<Class, Told> told_;
};

inline void BlockExchange::begin(std::uint64_t owner, CallKey key, const LastCalls& mine) {
  const Message message{owner, key, mine};
  Told& block = told({owner, key});
  block.begun = true;
  block.ranks[static_cast<std::size_t>(me_)].push_back(mine);
  for (Rank peer = 0; peer < ranks_; ++peer) {
    if (peer != me_) mailbox_.send(peer, &message, sizeof message);
  }
}

inline bool BlockExchange::ended(std::uint64_t owner, CallKey key) {
  receive();
  const auto found = told_.find({owner, key});
  return found == told_.end() || complete(found->second) || code() != MPI_SUCCESS;
}

inline std::vector<LastCalls> BlockExchange::take(std::uint64_t owner, CallKey key) {
  Told& block = told({owner, key});
  std::vector<LastCalls> all;
  for (auto& rank : block.ranks) {
    all.push_back(rank.front());
    rank.erase(rank.begin());
  }
  block.begun = false;
  return all;
}

template <class Known>
void BlockExchange::drop_unless(Known&& known) {
  receive();  // nobody else asks for what is told of classes that are gone
  std::erase_if(told_, [&](auto& each) {
    const auto& [owner, key] = each.first;
    if (known(key)) return false;
    // A rank that is ahead may have told of a class that begins anew.
    if (each.second.begun && complete(each.second)) (void)take(owner, key);
    return !each.second.begun && std::ranges::all_of(each.second.ranks, &Queue::empty);
  });
}

inline void BlockExchange::end(std::uint64_t owner, Seconds at_most) {
  const bool before = std::exchange(outstanding_, true);  // it stays where there is no memory
  const auto all_told = [this, owner] {
    receive();
    return std::ranges::all_of(told_, [owner](const auto& each) {
      return each.first.first != owner || complete(each.second);
    });
  };
  const bool came = wait_until(all_told, std::max(0.0, at_most));
  outstanding_ = before || !came;
  ended_ = owner;
  std::erase_if(told_, [owner](const auto& each) { return each.first.first <= owner; });
}

inline void BlockExchange::receive() {
  while (const auto envelope = mailbox_.receive()) {
    const auto message = envelope->as<Message>();
    if (!message || message->owner <= ended_) continue;
    told({message->owner, message->key})
        .ranks[static_cast<std::size_t>(envelope->from)]
        .push_back(message->calls);
  }
}

}  // namespace latecomer
