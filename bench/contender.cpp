#include "contender.hpp"

#include <latecomer/latecomer_mpi.h>

#include <utility>

#include "mpi.hpp"

namespace bench {
namespace {

void must(int code) {
  if (code != MPI_SUCCESS) throw UsageError(latecomer_last_error());
}

}  // namespace

Contender::Contender(std::string algorithm, const Options& options)
    : algorithm_(std::move(algorithm)),
      collective_(options.collective),
      root_(options.root),
      online_(options.estimate == Estimate::online) {
  MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
  MPI_Comm_set_name(comm_, algorithm_.c_str());
  must(latecomer_set_algorithm(comm_, collective_.c_str(), algorithm_.c_str()));
  must(latecomer_set_network(comm_, options.network.empty() ? nullptr : options.network.c_str()));
  if (online_) must(latecomer_set_estimate(comm_, "online"));
}

std::string Contender::parameters() const {
  if (!handled()) return algorithm_ == "native" ? "" : "as=native";
  char text[256] = "";
  must(latecomer_get_parameters(comm_, text, sizeof text));
  return text;
}

void Contender::expect(const std::vector<double>& arrivals) {
  if (online_) return;
  must(latecomer_set_arrivals(comm_, arrivals.data(), static_cast<int>(arrivals.size())));
}

void Contender::compute_begin() const {
  if (online_) must(latecomer_compute_begin(comm_));
}

void Contender::edge(double part) const {
  if (online_ && part > 0) must(latecomer_compute_progress(comm_, part));
}

void Contender::compute_end() const {
  if (online_) must(latecomer_compute_end(comm_));
}

void Contender::call(Workload& workload) {
  const int count = workload.count();
  const MPI_Datatype type = workload.type();
  const void* const input = workload.input();
  void* const result = workload.result();
  if (collective_ == "allreduce") {
    latecomer_allreduce(input, result, count, type, workload.op(), comm_);
  } else if (collective_ == "reduce") {
    latecomer_reduce(input, result, count, type, workload.op(), root_, comm_);
  } else if (collective_ == "bcast") {
    void* const buffer = rank() == root_ ? const_cast<void*>(input) : result;
    latecomer_bcast(buffer, count, type, root_, comm_);
  } else if (collective_ == "allgather") {
    latecomer_allgather(input, count, type, result, count, type, comm_);
  } else if (collective_ == "gather") {
    latecomer_gather(input, count, type, result, count, type, root_, comm_);
  } else {
    latecomer_scatter(input, count, type, result, count, type, root_, comm_);
  }
}

void Contender::count() {
  latecomer_stats stats{};
  must(latecomer_get_stats(comm_, &stats));
  handled_before_ = std::exchange(handled_, stats.handled);
}

}  // namespace bench
