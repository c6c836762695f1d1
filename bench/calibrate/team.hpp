// The ranks that measure: one rank of each host for the network, and the ranks that share a host.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace bench {

class Team {
 public:
  /// Collective. Throws UsageError on all ranks if there is only one.
  Team();
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] const std::vector<std::string>& hosts() const { return hosts_; }  // by rank
  /// One rank of each host; all ranks if there is one host; MPI_COMM_NULL on the others.
  [[nodiscard]] MPI_Comm members() const { return members_; }
  [[nodiscard]] int size() const { return size_; }  // of members(), on all ranks
  /// This rank's number among the members; -1 if it is none.
  [[nodiscard]] int place() const;
  /// The ranks of this one's host, if there are several hosts; else MPI_COMM_NULL.
  [[nodiscard]] MPI_Comm host() const { return host_; }
  /// True if there are several hosts and one of them holds several ranks.
  [[nodiscard]] bool shared() const { return shared_; }

  /// Waits for all ranks without taking cores from those that still measure. Collective.
  void meet() const;

 private:
  std::vector<std::string> hosts_;
  MPI_Comm members_ = MPI_COMM_NULL;
  MPI_Comm host_ = MPI_COMM_NULL;
  int size_ = 0;
  bool shared_ = false;
};

}  // namespace bench
