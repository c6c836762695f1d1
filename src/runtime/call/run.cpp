#include "runtime/call/run.hpp"

#include "base/parse.hpp"
#include "runtime/report/log.hpp"

namespace latecomer {
namespace {

constexpr Seconds kFailureCheckInterval = 1e-3;

int make_disagreement_class() {
  int made = MPI_ERR_OTHER;
  if (PMPI_Add_error_class(&made) != MPI_SUCCESS) return MPI_ERR_OTHER;
  PMPI_Add_error_string(
      made,
      "latecomer: the ranks do not follow the same plan (different arrivals, networks or counts?)");
  return made;
}

/// Runs one call, and waits for its messages.
class Run {
 public:
  Run(Protocol& protocol, CommResources& resources, const WaitOptions& options)
      : protocol_(protocol),
        resources_(resources),
        options_(options),
        monitor_(resources, options) {}

  Outcome operator()(Begun begun) {
    if (begun == Begun::now) protocol_.start();
    protocol_.arrive();
    while (protocol_.status() == Status::running && !monitor_.trouble()) {
      if (resources_.transport.poll(protocol_)) {
        monitor_.progressed();
      } else {
        monitor_.pause([this] { report(); });
      }
    }
    if (monitor_.trouble()) return {disagreement_class(), *monitor_.trouble() + here()};
    if (protocol_.status() == Status::done) return {};
    Outcome failed = failure_of(protocol_, resources_);
    failed.why += here();
    return failed;
  }

 private:
  /// Reports a stall, and asks the peers waited for which plan they follow. A rank that is merely
  /// late finds the question when it arrives.
  void report() {
    const std::string others = mates();
    const std::string own = protocol_.waiting_for();
    const bool alone = own.empty() && others.starts_with(", ");
    monitor_.report(alone ? others.substr(2) : own + others, resources_.transport.awaited());
    for (const Rank peer : resources_.transport.awaited()) resources_.failures.ask(peer);
    ask_further();
  }
  /// Asks further ranks: the peers may have left the call, and two ranks that wait with different
  /// plans need not wait for each other. With each report, ranks twice as far away are asked.
  void ask_further() {
    const Rank ranks = resources_.comm->link().ranks();
    const Rank me = resources_.comm->link().me();
    if (distance_ >= ranks) return;
    resources_.failures.ask((me + distance_) % ranks);
    resources_.failures.ask((me - distance_ + ranks) % ranks);
    distance_ *= 2;
  }
  /// The ranks of this one's node of which one may not have signalled yet: those that are not in
  /// the call; if there are none the driver, which waits for other nodes; if that is this rank all
  /// that have not left the call; if all have left it, after another call than this one, all.
  [[nodiscard]] std::string mates() const {
    const std::vector<Rank> missing = resources_.transport.missing_mates();
    if (!missing.empty()) return ", for rank " + listed(missing) + " of its node to enter the call";
    const std::vector<Rank> inside = resources_.transport.mates_inside();
    std::string driver = driver_of_node();
    if (!driver.empty()) return driver;
    if (inside.empty()) return mates_gone();
    return ", for rank " + listed(inside) + " of its node to go on in the call";
  }
  static std::string listed(const std::vector<Rank>& ranks) {
    std::string text;
    for (const Rank rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank);
    return text;
  }
  [[nodiscard]] bool awaits_node() const {
    const Plan* const plan = options_.plan;
    return plan != nullptr && !plan->placement.empty() && resources_.transport.awaits_flags_alone();
  }
  [[nodiscard]] std::string mates_gone() const {
    if (!awaits_node()) return "";
    const Rank me = resources_.comm->link().me();
    std::vector<Rank> gone;
    for (Rank rank = 0; rank < resources_.comm->link().ranks(); ++rank) {
      const auto node = [&](Rank each) {
        return options_.plan->placement[static_cast<std::size_t>(each)];
      };
      if (rank != me && node(rank) == node(me)) gone.push_back(rank);
    }
    return ", but rank " + listed(gone) + " of its node has left the call";
  }
  /// The rank of this one's node that waits for the other nodes.
  [[nodiscard]] std::string driver_of_node() const {
    if (!awaits_node()) return "";
    const Plan* const plan = options_.plan;
    const Rank me = resources_.comm->link().me();
    const Rank node = plan->placement[static_cast<std::size_t>(me)];
    const Count driver = plan->table[static_cast<std::size_t>(node)];
    return driver == me ? "" : " (rank " + std::to_string(driver) + " drives its node)";
  }
  /// This rank's plan, for comparison.
  [[nodiscard]] std::string here() const {
    return options_.plan == nullptr ? "" : "; here it is " + in_words(*options_.plan);
  }

  Protocol& protocol_;
  CommResources& resources_;
  WaitOptions options_;
  StallMonitor monitor_;
  Rank distance_ = 1;  // of the ranks that the next report asks
};

}  // namespace

void StallMonitor::report(const std::string& for_what, std::span<const Rank> ranks) const {
  const std::string what = options_.plan == nullptr ? "" : " (" + in_words(*options_.plan) + ')';
  log_line(describe(options_.user) + ", call " +
           std::to_string(resources_.calls - resources_.earlier + options_.calls_ahead) + what +
           ": waiting for " + format_fixed(now_ - since_, 6) + " s " + for_what +
           resources_.hosts.whereabouts(ranks) +
           "; a rank that is waited for may be in the MPI library");
}

void StallMonitor::check_failures() {
  if (now_ < next_check_) return;
  next_check_ = now_ + kFailureCheckInterval;
  trouble_ = resources_.failures.check();
}

int disagreement_class() {
  static const int made = make_disagreement_class();
  return made;
}

Outcome run(Protocol& protocol, CommResources& resources, const WaitOptions& options, Begun begun) {
  return Run(protocol, resources, options)(begun);
}

Outcome failure_of(const Protocol& protocol, const CommResources& resources) {
  const int code = resources.transport.error();
  if (code == MPI_SUCCESS) return {disagreement_class(), protocol.failure()};
  int category = MPI_SUCCESS;
  PMPI_Error_class(code, &category);
  if (category != MPI_ERR_TRUNCATE) return {code, protocol.failure()};
  return {disagreement_class(), protocol.failure() + ": its length is not the planned one, so " +
                                    "that rank follows another plan"};
}

}  // namespace latecomer
