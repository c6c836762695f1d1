#include "try_allreduce.hpp"

#include <cmath>
#include <cstring>
#include <thread>

#include "base/hash.hpp"
#include "latecomer/latecomer_mpi.h"

namespace latecomer::testing {
namespace {

constexpr int kFiller = 0xA5;

using Memory = std::vector<char>;

std::vector<Value> values_of(const Kind& kind, Count count, std::uint64_t seed, int rank) {
  Random random(seed * 1000003 + static_cast<std::uint64_t>(rank));
  std::vector<Value> values;
  for (Count i = 0; i < count; ++i) values.push_back(kind.draw(random));
  return values;
}

std::vector<Value> expected_values(const Kind& kind, Count count, std::uint64_t seed, int ranks) {
  std::vector<Value> all = values_of(kind, count, seed, 0);
  for (int rank = 1; rank < ranks; ++rank) {
    const auto next = values_of(kind, count, seed, rank);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = kind.combine(all[i], next[i]);
  }
  return all;
}

Memory memory_with(const Kind& kind, const std::vector<Value>& values) {
  const auto count = static_cast<Count>(values.size());
  Memory memory(kind.bytes(count), static_cast<char>(kFiller));
  for (Count i = 0; i < count; ++i) {
    kind.write(memory.data() + kind.origin, i, values[static_cast<std::size_t>(i)]);
  }
  return memory;
}

bool close(const Kind& kind, const Memory& memory, const std::vector<Value>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Value value = kind.read(memory.data() + kind.origin, static_cast<Count>(i));
    if (!(std::fabs(value[0] - expected[i][0]) < 1e-4)) return false;
  }
  return true;
}

bool same_on_all_ranks(MPI_Comm comm, const Memory& memory) {
  const std::uint64_t hash = fnv1a({memory.data(), memory.size()});
  const std::uint64_t mine[] = {hash, ~hash};
  std::uint64_t largest[2] = {};
  MPI_Allreduce(mine, largest, 2, MPI_UINT64_T, MPI_MAX, comm);
  return largest[0] == ~largest[1];
}

}  // namespace

void try_allreduce(MPI_Comm comm, const Kind& kind, const Shape& shape, std::uint64_t seed,
                   const std::string& about) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const Memory mine = memory_with(kind, values_of(kind, shape.count, seed, rank));
  const auto expected = expected_values(kind, shape.count, seed, ranks);
  Memory send = mine;
  Memory receive =
      shape.in_place ? mine : Memory(kind.bytes(shape.count), static_cast<char>(kFiller));
  if (shape.sleep > 0) std::this_thread::sleep_for(std::chrono::duration<double>(shape.sleep));

  const void* const source = shape.in_place ? MPI_IN_PLACE : send.data() + kind.origin;
  const int code = latecomer_allreduce(source, receive.data() + kind.origin,
                                       static_cast<int>(shape.count), kind.type, kind.op, comm);
  const std::string text = about + ", " + kind.name + ", count " + std::to_string(shape.count) +
                           (shape.in_place ? ", in place" : "") + ", seed " + std::to_string(seed);
  CHECK_TEXT(code == MPI_SUCCESS, text + ": code " + std::to_string(code));
  CHECK_TEXT(send == mine, text + ": the send buffer changed");
  if (kind.exact) {
    CHECK_TEXT(receive == memory_with(kind, expected), text + ": wrong result");
  } else {
    CHECK_TEXT(close(kind, receive, expected), text + ": wrong result");
    // What that asks for.
    const bool may_differ = about.find("rounding=any") != std::string::npos;
    CHECK_TEXT(may_differ || same_on_all_ranks(comm, receive),
               text + ": ranks have different results");
  }
}

}  // namespace latecomer::testing
