// Blocking messages of the runtime between two ranks, beside those of calls. A wait reports stalls,
// and ends when another rank failed.
#pragma once

#include <array>
#include <cstring>
#include <string>
#include <type_traits>

#include "patterns/trees.hpp"
#include "runtime/call/run.hpp"
#include "runtime/connection/comm_resources.hpp"
#include "transports/mpi/mailbox.hpp"

namespace latecomer {

/// After a failure no message is sent or received.
class BlockingChannel {
 public:
  /// In a call, a rank that is waited for long is asked which call it is in.
  enum class When : std::uint8_t { between_calls, in_call };

  /// `purpose`, for reports: "to set the clock".
  BlockingChannel(CommResources& resources, const WaitOptions& options, int tag,
                  std::string purpose, When when = When::in_call)
      : resources_(resources),
        options_(options),
        when_(when),
        mailbox_(resources.comm->link(), tag),
        purpose_(std::move(purpose)) {}

  [[nodiscard]] bool failed() const { return outcome_.code != MPI_SUCCESS; }
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }

  template <class Content>
  void send(Rank peer, const Content& content) {
    static_assert(std::is_trivially_copyable_v<Content>);
    send_bytes(peer, &content, sizeof content);
  }
  template <class Content>
  void receive(Rank peer, Content& content) {
    static_assert(std::is_trivially_copyable_v<Content>);
    receive_bytes(peer, &content, sizeof content);
  }

 private:
  /// Waits until the message has left: this rank may compute for long from now on.
  void send_bytes(Rank peer, const void* content, std::size_t size) {
    if (failed()) return;
    mailbox_.send(peer, content, size);
    wait(peer, [this] { return mailbox_.idle(); });
  }

  void receive_bytes(Rank peer, void* content, std::size_t size) {
    wait(peer, [&] {
      const auto envelope = mailbox_.receive_from(peer);
      if (!envelope || envelope->content.size() != size) return false;
      std::memcpy(content, envelope->content.data(), size);
      return true;
    });
  }

  template <class Done>
  void wait(Rank peer, Done&& done) {
    StallMonitor monitor(resources_, options_);
    while (!failed() && !done()) {
      check();
      monitor.pause([&] {
        monitor.report("for rank " + std::to_string(peer) + ' ' + purpose_, std::array{peer});
        if (when_ == When::in_call) resources_.failures.ask(peer);
      });
      if (monitor.trouble()) outcome_ = {disagreement_class(), *monitor.trouble()};
    }
  }

  void check() {
    if (mailbox_.error() == MPI_SUCCESS) return;
    outcome_ = {mailbox_.error(), "a message " + purpose_ + " failed"};
  }

  CommResources& resources_;
  WaitOptions options_;
  When when_;
  Mailbox mailbox_;
  std::string purpose_;
  Outcome outcome_;
};

/// Reduces `content` over all ranks, with the result on all ranks: up a binomial tree and down
/// again. `merge(all, theirs)` adds another rank's.
template <class Content, class Merge>
Content tree_allreduce(BlockingChannel& channel, Rank ranks, Rank me, Content all, Merge&& merge) {
  const TreeNode node = binomial_node(ranks, me);
  for (const TreeNode::Child& child : node.children) {
    Content theirs{};
    channel.receive(child.rank, theirs);
    if (!channel.failed()) merge(all, theirs);
  }
  if (!node.root()) {
    channel.send(node.parent, all);
    channel.receive(node.parent, all);
  }
  for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
    channel.send(child->rank, all);
  }
  return all;
}

}  // namespace latecomer
