#include "try_reduction.hpp"

#include <cmath>
#include <cstring>
#include <thread>

#include "base/reproducible.hpp"
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

/// One rank's part in a call.
class Trial {
 public:
  Trial(MPI_Comm comm, const Kind& kind, const Shape& shape, std::uint64_t seed)
      : comm_(comm), kind_(kind), shape_(shape) {
    MPI_Comm_rank(comm, &rank_);
    int ranks = 1;
    MPI_Comm_size(comm, &ranks);
    mine_ = memory_with(kind, values_of(kind, shape.count, seed, rank_));
    expected_ = expected_values(kind, shape.count, seed, ranks);
    send_ = mine_;
    receive_ = in_place() ? mine_ : untouched();
    text_ = kind.name + ", count " + std::to_string(shape.count) +
            (shape.in_place ? ", in place" : "") + ", seed " + std::to_string(seed) + ", root " +
            std::to_string(shape.root);
  }

  void run(const std::string& about) {
    const double sleep = shape_.sleep;
    if (sleep > 0) std::this_thread::sleep_for(std::chrono::duration<double>(sleep));
    const int code = call();
    const std::string text = about + ", " + text_;
    CHECK_TEXT(code == MPI_SUCCESS, text + ": code " + std::to_string(code));
    CHECK_TEXT(send_ == mine_, text + ": the send buffer changed");
    if (receives()) return check(about, text);
    CHECK_TEXT(receive_ == untouched(), text + ": a receive buffer that is not used changed");
  }

 private:
  [[nodiscard]] bool receives() const { return shape_.root < 0 || shape_.root == rank_; }
  [[nodiscard]] bool in_place() const { return shape_.in_place && receives(); }
  [[nodiscard]] Memory untouched() const {
    return Memory(kind_.bytes(shape_.count), static_cast<char>(kFiller));
  }
  int call() {
    const void* const source = in_place() ? MPI_IN_PLACE : send_.data() + kind_.origin;
    char* const target = receive_.data() + kind_.origin;
    const int count = static_cast<int>(shape_.count);
    if (shape_.root < 0) {
      return latecomer_allreduce(source, target, count, kind_.type, kind_.op, comm_);
    }
    return latecomer_reduce(source, target, count, kind_.type, kind_.op, shape_.root, comm_);
  }
  void check(const std::string& about, const std::string& text) const {
    if (kind_.exact) {
      CHECK_TEXT(receive_ == memory_with(kind_, expected_), text + ": wrong result");
      return;
    }
    CHECK_TEXT(close(kind_, receive_, expected_), text + ": wrong result");
    // Only an all-reduce without rounding=any promises all ranks the same bits.
    const bool may_differ = shape_.root >= 0 || about.find("rounding=any") != std::string::npos;
    CHECK_TEXT(may_differ || same_on_all_ranks(comm_, receive_),
               text + ": ranks have different results");
  }

  MPI_Comm comm_;
  const Kind& kind_;
  Shape shape_;
  int rank_ = 0;
  Memory mine_, send_, receive_;
  std::vector<Value> expected_;
  std::string text_;
};

}  // namespace

void try_allreduce(MPI_Comm comm, const Kind& kind, const Shape& shape, std::uint64_t seed,
                   const std::string& about) {
  Trial(comm, kind, shape, seed).run(about);
}

void try_reduce(MPI_Comm comm, const Kind& kind, const Shape& shape, std::uint64_t seed,
                const std::string& about) {
  Trial(comm, kind, shape, seed).run(about);
}

}  // namespace latecomer::testing
