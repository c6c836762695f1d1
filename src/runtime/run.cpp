#include "runtime/run.hpp"

#include "runtime/idle.hpp"
#include "runtime/log.hpp"
#include "runtime/long_wait.hpp"
#include "transports/mpi/returned_errors.hpp"

namespace latecomer {
namespace {

constexpr Seconds kControlInterval = 1e-3;

int make_disagreement_class() {
  int made = MPI_ERR_OTHER;
  if (PMPI_Add_error_class(&made) != MPI_SUCCESS) return MPI_ERR_OTHER;
  PMPI_Add_error_string(made, "latecomer: the ranks do not follow the same plan");
  return made;
}

/// One call's wait for messages.
class Run {
 public:
  Run(Protocol& protocol, Link& link, const RunOptions& options)
      : protocol_(protocol),
        link_(link),
        options_(options),
        wait_(options.long_wait),
        idle_(link.crowded) {}

  Outcome operator()() {
    protocol_.start();
    protocol_.arrive();
    while (protocol_.status() == Status::running && !trouble_) {
      if (link_.transport.poll(protocol_)) {
        wait_.progressed();
        idle_.progressed();
      } else {
        wait();
      }
    }
    if (trouble_) return {disagreement_class(), *trouble_};
    if (protocol_.status() == Status::done) return {};
    return failure();
  }

 private:
  Outcome failure() {
    const int code = link_.transport.error();
    if (code == MPI_SUCCESS) return {disagreement_class(), protocol_.failure()};
    int category = MPI_SUCCESS;
    PMPI_Error_class(code, &category);
    if (category != MPI_ERR_TRUNCATE) return {code, protocol_.failure()};
    return {disagreement_class(), protocol_.failure() + ": its length is not the planned one, so " +
                                      "that rank follows another plan"};
  }

  void wait() {
    if (wait_.idle()) report();
    if (wait_.now() >= next_control_) {
      next_control_ = wait_.now() + kControlInterval;
      trouble_ = link_.control.read();
    }
    idle_.pause(wait_.waited());
  }

  /// A rank that is merely late will find the question when it arrives.
  void report() {
    log_line(describe(options_.user) + ", call " + std::to_string(link_.calls) + ": waiting for " +
             std::to_string(wait_.waited()) + " s " + protocol_.waiting_for());
    for (const Rank peer : link_.transport.awaited()) link_.control.ask(peer);
  }

  Protocol& protocol_;
  Link& link_;
  RunOptions options_;
  LongWait wait_;
  Idle idle_;
  Seconds next_control_ = 0;
  std::optional<std::string> trouble_;
};

}  // namespace

int disagreement_class() {
  static const int made = make_disagreement_class();
  return made;
}

Outcome run(Protocol& protocol, Link& link, const RunOptions& options) {
  const ReturnedErrors returned;
  return Run(protocol, link, options)();
}

}  // namespace latecomer
