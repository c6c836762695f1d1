// An algorithm under test on a communicator of its own, so that none learns from another's run.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "options.hpp"
#include "workload.hpp"

namespace bench {

class Contender {
 public:
  /// Collective. Throws UsageError on all ranks for a text that is no algorithm.
  Contender(std::string algorithm, const Options& options);
  ~Contender() { MPI_Comm_free(&comm_); }
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;

  [[nodiscard]] const std::string& algorithm() const { return algorithm_; }
  /// True if its calls become better with their number.
  [[nodiscard]] bool learns() const { return algorithm_ == "auto"; }
  /// True if latecomer carried out the last call; otherwise the MPI library did.
  [[nodiscard]] bool handled() const { return handled_ > handled_before_; }
  /// The parameters of the last call, as in "as=native" where the MPI library carried it out.
  [[nodiscard]] std::string parameters() const;

  /// Tells the library, unless it is to find out by itself.
  void expect(const std::vector<double>& arrivals);
  /// The hooks of a computation, where the library is to find arrivals out by itself.
  void compute_begin() const;
  void edge(double part) const;
  void compute_end() const;
  void call(Workload& workload);
  /// After each call.
  void count();

 private:
  std::string algorithm_;
  std::string collective_;
  int root_;
  bool online_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::uint64_t handled_ = 0;
  std::uint64_t handled_before_ = 0;
};

}  // namespace bench
