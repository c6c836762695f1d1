#include "transports/mpi/mailbox.hpp"

#include <array>
#include <iterator>
#include <mutex>
#include <utility>

#include "base/threads.hpp"
#include "transports/mpi/backoff.hpp"

namespace latecomer {
namespace {

constexpr std::size_t kMaxSpare = 16;

/// True if the send is done, or its test failed: then it cannot be waited for.
bool is_done(Mailbox::Sent& sent, int& code) {
  int done = 0;
  code = PMPI_Test(&sent.request, &done, MPI_STATUS_IGNORE);
  return done != 0 || code != MPI_SUCCESS;
}

/// The sends under way of all mailboxes that are gone.
struct Orphans {
  std::mutex guard;
  Mailbox::Sends sends;

  void forget_sent() {
    int code = MPI_SUCCESS;
    std::erase_if(sends, [&](Mailbox::Sent& sent) { return is_done(sent, code); });
  }
};

/// Lives as long as the process: MPI may read its content until the very end.
Orphans& orphans() {
  static auto* const all = new Orphans;
  return *all;
}

constexpr std::size_t kLinks = 16;  // the last ones: messages do not take longer

struct GoneLink {
  explicit GoneLink(const Link& link)
      : mailboxes{Mailbox{link, Tags::kControl}, Mailbox{link, Tags::kFailures},
                  Mailbox{link, Tags::kBlocks}, Mailbox{link, Tags::kPlans}} {}
  std::array<Mailbox, 4> mailboxes;
};

struct Gone {
  std::mutex guard;
  std::list<GoneLink> links;
};

constexpr int kProbeEvery = 4;  // calls of receive(), while no message arrives

}  // namespace

Mailbox::~Mailbox() {
  forget_sent();
  if (leaving_.empty()) return;
  Orphans& all = orphans();
  const std::lock_guard lock(all.guard);
  all.forget_sent();
  all.sends.splice(all.sends.end(), leaving_);
}

bool Mailbox::finish(Seconds at_most) {
  Orphans& all = orphans();
  const std::lock_guard lock(all.guard);
  return wait_until(
      [&] {
        all.forget_sent();
        return all.sends.empty();
      },
      at_most);
}

void Mailbox::note(int code) {
  if (error_ == MPI_SUCCESS) error_ = code;
}

void Mailbox::send(Rank to, const void* content, std::size_t size) {
  used_ = true;
  forget_sent();
  if (spare_.empty()) spare_.emplace_back();
  Sent& sent = spare_.front();
  const auto* const first = static_cast<const char*>(content);
  sent.content.assign(first, first + size);
  leaving_.splice(leaving_.end(), spare_, spare_.begin());
  note(PMPI_Isend(sent.content.data(), static_cast<int>(size), MPI_BYTE, link_.place(to), tag_,
                  link_.comm(), &sent.request));
}

void Mailbox::forget_sent() {
  for (auto sent = leaving_.begin(); sent != leaving_.end();) {
    const auto next = std::next(sent);
    int code = MPI_SUCCESS;
    if (is_done(*sent, code)) {
      if (spare_.size() < kMaxSpare) {
        spare_.splice(spare_.begin(), leaving_, sent);
      } else {
        leaving_.erase(sent);
      }
    }
    note(code);
    sent = next;
  }
}

bool Mailbox::idle() {
  forget_sent();
  return leaving_.empty();
}

std::optional<Mailbox::Envelope> Mailbox::receive_at(int place) {
  if (error_ != MPI_SUCCESS) return std::nullopt;
  int found = 0;
  MPI_Status status;
  note(PMPI_Iprobe(place, tag_, link_.comm(), &found, &status));
  if (found == 0 || error_ != MPI_SUCCESS) return std::nullopt;
  used_ = true;
  int size = 0;
  PMPI_Get_count(&status, MPI_BYTE, &size);
  received_.resize(static_cast<std::size_t>(size));
  note(PMPI_Recv(received_.data(), size, MPI_BYTE, status.MPI_SOURCE, tag_, link_.comm(),
                 MPI_STATUS_IGNORE));
  if (error_ != MPI_SUCCESS) return std::nullopt;
  return Envelope{link_.at(status.MPI_SOURCE), received_};
}

void receive_leftovers_of(const Link& link) {
  Gone& all = lasting<Gone>();
  const std::lock_guard hold(all.guard);
  all.links.emplace_back(link);
  for (GoneLink& each : all.links) {
    for (Mailbox& mailbox : each.mailboxes) {
      while (mailbox.receive()) {
      }
    }
  }
  if (all.links.size() > kLinks) all.links.pop_front();
}

void ControlChannel::begin(std::uint64_t call) {
  call_ = call;
  skips_left_ = 0;
  if (!kept_.empty()) {
    std::erase_if(kept_, [call](const Received& kept) { return kept.call < call; });
  }
}

void ControlChannel::send(Rank to, Words words) {
  used_ = true;
  packet_.assign(1, call_);
  packet_.insert(packet_.end(), words.begin(), words.end());
  mailbox_.send(to, packet_.data(), packet_.size() * sizeof(std::uint64_t));
}

std::optional<ControlChannel::Message> ControlChannel::receive() {
  used_ = true;
  if (const auto kept = receive_kept()) return kept;
  if (skips_left_ > 0) {
    --skips_left_;
    return std::nullopt;
  }
  while (const auto envelope = mailbox_.receive()) {
    packet_.resize(envelope->content.size() / sizeof(std::uint64_t));
    if (packet_.size() < 2) continue;
    std::memcpy(packet_.data(), envelope->content.data(), packet_.size() * sizeof(std::uint64_t));
    if (packet_.front() < call_) continue;
    Message message{envelope->from, {packet_.begin() + 1, packet_.end()}};
    if (packet_.front() == call_) return message;
    kept_.push_back({packet_.front(), std::move(message)});
  }
  skips_left_ = kProbeEvery - 1;
  return std::nullopt;
}

/// The next message of this call among those that arrived during earlier calls.
std::optional<ControlChannel::Message> ControlChannel::receive_kept() {
  for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
    if (kept->call != call_) continue;
    Message message = std::move(kept->message);
    kept_.erase(kept);
    return message;
  }
  return std::nullopt;
}

}  // namespace latecomer
