#include "runtime/connection/node_sharing.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <system_error>

#include "base/error.hpp"
#include "base/files.hpp"
#include "runtime/connection/blocking_channel.hpp"
#include "runtime/report/log.hpp"
#include "runtime/settings/environment.hpp"

namespace latecomer {
namespace {

constexpr const char* kNodesVariable = "LATECOMER_NODES";

std::uint64_t read_per_node(const std::string& text) {
  if (text == "off") return 1;
  Rank ranks = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, ranks);
  if (error == std::errc() && rest == end && ranks > 0) return static_cast<std::uint64_t>(ranks);
  throw Error("ranks of a node", text,
              "off, or a whole number in digits from 1 to " +
                  std::to_string(std::numeric_limits<Rank>::max()));
}

/// The memory that a node's first rank made.
struct Offer {
  std::int64_t code = 0;  // it made none
  std::uint64_t number = 0;
  char path[112] = "";
};

struct Reply {
  std::int64_t code = 0;
};

/// The result of all ranks.
struct Agreement {
  std::uint64_t plan_hash = 0;
  std::int64_t follows = 0;  // a rank with that plan
  std::int64_t other = -1;   // a rank with another one
  std::int64_t failed = -1;  // a rank without memory
  std::int64_t code = 0;     // the reason
};

void unite(Agreement& mine, const Agreement& theirs) {
  if (mine.other < 0 && theirs.other >= 0) {
    mine.other = theirs.other;
    mine.follows = theirs.follows;
  } else if (mine.other < 0 && mine.plan_hash != theirs.plan_hash) {
    mine.other = theirs.follows;
  }
  if (theirs.failed < 0 || (mine.failed >= 0 && mine.failed < theirs.failed)) return;
  mine.failed = theirs.failed;
  mine.code = theirs.code;
}

/// Returns the error's code; 0: there was none.
template <class Work>
int code_of(Work&& work) try {
  work();
  return 0;
} catch (const std::system_error& error) {
  return error.code().value();
} catch (const std::bad_alloc&) {
  return ENOMEM;
}

/// Not by std::random_device, which takes 5 KiB of the program's stack.
std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) == sizeof number) return number;
  return static_cast<std::uint64_t>(monotonic_clock() * 1e9);
}

/// Makes the memory of one node.
class Sharing {
 public:
  Sharing(BlockingChannel& channel, std::vector<Rank> mates, const RankContext& context,
          const NodeRoom& room)
      : channel_(channel),
        mates_(std::move(mates)),
        context_(context),
        room_(room),
        bytes_(NodeMemory::bytes(mates_.size(), context.ranks)) {}

  /// Returns the error's code.
  int share() {
    int code = 0;
    for (const auto kind : {SharedMemory::Kind::unnamed, SharedMemory::Kind::named}) {
      code = context_.me == mates_.front() ? offer(kind) : accept();
      if (code == 0 || channel_.failed()) break;
    }
    // Without a memory and a code: a rank of the node failed.
    if (code == 0 && !(memory_ && memory_->all_signed(number_))) code = EFAULT;
    if (code != 0) memory_.reset();
    return code;
  }
  [[nodiscard]] std::unique_ptr<NodeMemory> take() { return std::move(memory_); }

 private:
  int offer(SharedMemory::Kind kind) {
    memory_.reset();
    number_ = random_number();
    Offer offered{0, number_, ""};
    offered.code = code_of([&] {
      SharedMemory made = SharedMemory::make(kind, bytes_);
      std::strncpy(offered.path, made.path().c_str(), sizeof offered.path - 1);
      // A file system may have little room: what others could not have later is taken now.
      const bool all = kind == SharedMemory::Kind::named;
      const auto most = static_cast<std::size_t>(kMaxNodeBytes);
      join(std::move(made), all ? std::max(room_.bytes, most) : room_.bytes);
    });
    for (const Rank mate : others()) channel_.send(mate, offered);
    Reply verdict{offered.code};
    for (const Rank mate : others()) {
      Reply reply;
      channel_.receive(mate, reply);
      if (verdict.code == 0) verdict.code = reply.code;
    }
    if (memory_) memory_->unlink();
    for (const Rank mate : others()) channel_.send(mate, verdict);
    return static_cast<int>(verdict.code);
  }

  int accept() {
    memory_.reset();
    Offer offered;
    channel_.receive(mates_.front(), offered);
    Reply reply{offered.code};
    offered.path[sizeof offered.path - 1] = '\0';
    number_ = offered.number;
    if (reply.code == 0 && !channel_.failed()) {
      reply.code = code_of([&] { join(SharedMemory::open(offered.path, bytes_), room_.bytes); });
    }
    channel_.send(mates_.front(), reply);
    Reply verdict;
    channel_.receive(mates_.front(), verdict);
    return static_cast<int>(verdict.code);
  }

  void join(SharedMemory memory, std::size_t buffer_bytes) {
    memory_ = std::make_unique<NodeMemory>(std::move(memory), mates_, context_.me, context_.ranks);
    memory_->reserve(room_.flags, buffer_bytes);
    memory_->sign(number_);
  }
  [[nodiscard]] std::span<const Rank> others() const { return std::span(mates_).subspan(1); }

  BlockingChannel& channel_;
  std::vector<Rank> mates_;
  const RankContext& context_;
  NodeRoom room_;
  std::size_t bytes_;
  std::uint64_t number_ = 0;
  std::unique_ptr<NodeMemory> memory_;
};

NodeRoom room_for(const Prepared& prepared, const Layout& layout) {
  return NodeMemory::room_for(prepared.need.flags,
                              Buffers::node_bytes(layout, prepared.need.count));
}

NodeRoom more_than(const NodeRoom& room, const NodeRoom& needed) {
  return {std::max(room.flags, needed.flags), std::max(room.bytes, needed.bytes)};
}

/// Gives the memory up on all ranks, which know that one of them has none.
void do_without(CommState& state, const Agreement& all) {
  state.resources->node.reset();
  state.resources->shares_memory = false;
  state.resources->placement.clear();
  state.chooser.place({});
  if (state.rank != 0) return;
  const std::string why = meaning_of_error(static_cast<int>(all.code));
  log_line(describe(state.comm) + ": ranks of a node share no memory, since rank " +
           std::to_string(all.failed) + " cannot (" + why +
           "); every rank counts as a node of its own" +
           state.resources->hosts.whereabouts(std::array{static_cast<Rank>(all.failed)}));
}

}  // namespace

std::uint64_t ranks_per_node() try {
  const auto text = environment(kNodesVariable);
  return text ? read_per_node(*text) : 0;
} catch (const Error& error) {
  report_unused(kNodesVariable, error.what());
  return 0;
}

bool fits_node(const Layout& layout) {
  const Count most = kMaxNodeBytes / std::max<Count>(1, layout.size);
  return Buffers::node_bytes(layout, most) <= NodeMemory::kMaxBytes;
}

bool lacks_memory(const CommState& state, const Prepared& prepared, const Layout& layout) {
  if (prepared.plan.placement.empty()) return false;
  const NodeRoom& room = state.resources->room;
  return !state.resources->shares_memory || prepared.need.flags > room.flags ||
         Buffers::node_bytes(layout, prepared.need.count) > room.bytes;
}

Outcome share_memory(CommState& state, const Prepared& prepared, const Layout& layout) {
  CommResources& resources = *state.resources;
  const RankContext& context = prepared.context();
  resources.failures.enter_part(FailureDetector::Part::memory, context.plan_hash);
  BlockingChannel channel(resources, {state.comm, state.tuning.long_wait, 0, &prepared.plan},
                          Tags::kMemory, "to share the memory of nodes");
  Agreement mine{context.plan_hash, state.rank};
  const Nodes nodes(prepared.plan.placement, state.ranks);
  const std::vector<Rank>& mates = nodes.ranks(nodes.node(state.rank));
  const NodeRoom room = more_than(resources.room, room_for(prepared, layout));
  if (resources.node) {
    mine.code = code_of([&] { (void)resources.node->reserve(room.flags, room.bytes); });
  } else if (mates.size() > 1) {
    Sharing sharing(channel, mates, context, room);
    mine.code = sharing.share();
    resources.node = sharing.take();
  }
  if (mine.code != 0) mine.failed = state.rank;
  const Agreement all = tree_allreduce(channel, state.ranks, state.rank, mine, unite);
  if (channel.failed()) return channel.outcome();
  if (all.other >= 0) {
    return {disagreement_class(), "rank " + std::to_string(all.other) +
                                      " follows another plan than rank " +
                                      std::to_string(all.follows)};
  }
  if (all.failed >= 0) {
    do_without(state, all);
  } else {
    resources.shares_memory = true;
    resources.room = room;
  }
  return {};
}

}  // namespace latecomer
