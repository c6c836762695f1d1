#include "contender.hpp"

#include <latecomer/latecomer_mpi.h>

#include <utility>

namespace bench {
namespace {

void must(int code) {
  if (code != MPI_SUCCESS) throw UsageError(latecomer_last_error());
}

}  // namespace

Contender::Contender(std::string algorithm, const Options& options)
    : algorithm_(std::move(algorithm)), online_(options.estimate == Estimate::online) {
  MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
  MPI_Comm_set_name(comm_, algorithm_.c_str());
  must(latecomer_set_algorithm(comm_, "allreduce", algorithm_.c_str()));
  must(latecomer_set_network(comm_, options.network.empty() ? nullptr : options.network.c_str()));
  if (online_) must(latecomer_set_estimate(comm_, "online"));
}

std::string Contender::parameters() const {
  char text[256] = "";
  must(latecomer_get_parameters(comm_, text, sizeof text));
  return text;
}

void Contender::expect(const std::vector<double>& arrivals) {
  if (online_) return;
  must(latecomer_set_arrivals(comm_, arrivals.data(), static_cast<int>(arrivals.size())));
}

void Contender::allreduce(Workload& workload) {
  latecomer_allreduce(workload.input(), workload.result(), workload.count(), workload.type(),
                      workload.op(), comm_);
}

void Contender::count() {
  latecomer_stats stats{};
  must(latecomer_get_stats(comm_, &stats));
  handled_before_ = std::exchange(handled_, stats.handled);
}

}  // namespace bench
