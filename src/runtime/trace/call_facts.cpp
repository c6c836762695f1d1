#include "runtime/trace/call_facts.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "runtime/call/operators.hpp"
#include "runtime/comm_state.hpp"

namespace latecomer::trace {
namespace {

std::int64_t size_of(MPI_Datatype type) {
  int size = 0;
  if (type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &size) != MPI_SUCCESS) return 0;
  return size;
}

}  // namespace

std::string_view name_of(MPI_Op op) {
  if (op == MPI_OP_NULL) return "";
  static const std::pair<MPI_Op, const char*> kKnown[] = {
      {MPI_SUM, "sum"},   {MPI_MAX, "max"},   {MPI_MIN, "min"},       {MPI_PROD, "prod"},
      {MPI_LAND, "land"}, {MPI_LOR, "lor"},   {MPI_LXOR, "lxor"},     {MPI_BAND, "band"},
      {MPI_BOR, "bor"},   {MPI_BXOR, "bxor"}, {MPI_MAXLOC, "maxloc"}, {MPI_MINLOC, "minloc"}};
  for (const auto& [known, name] : kKnown) {
    if (op == known) return name;
  }
  int commutes = 1;
  PMPI_Op_commutative(op, &commutes);
  return commutes != 0 ? "user's" : "user's, ordered";
}

void describe(Call& record, const latecomer::Call& call, const CommState& state) {
  const bool at_root = state.rank == call.root;
  if (rooted(call.collective)) record.root = call.root;
  const bool sends = call.collective == Collective::gather && !at_root;
  const bool receives = call.collective == Collective::scatter && !at_root;
  const bool of_receiver =
      receives || (parted(call.collective) && !sends && call.collective != Collective::scatter);
  const std::int64_t size = size_of(of_receiver ? call.recvtype : call.sendtype);
  record.element_bytes = static_cast<std::int32_t>(size);
  if (call.parts_differ()) {
    if (call.recvcounts == kNoCounts) return;
    record.bytes = 0;
    for (Rank rank = 0; rank < state.ranks; ++rank) record.bytes += call.part_count(rank) * size;
    return;
  }
  const Count count = of_receiver ? call.recvcount : call.sendcount;
  record.bytes = count * size * (parted(call.collective) ? state.ranks : 1);
}

std::string with_parameters(std::string_view algorithm, std::string_view parameters) try {
  std::string name(algorithm);
  std::string rest(parameters);
  if (rest.starts_with("as=")) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    name = rest.substr(3, end - 3);
    rest = end < rest.size() ? rest.substr(end + 1) : "";
  }
  std::replace(rest.begin(), rest.end(), ' ', ':');
  return rest.empty() ? name : name + ':' + rest;
} catch (const std::bad_alloc&) {
  return {};
}

}  // namespace latecomer::trace
