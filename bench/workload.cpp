#include "workload.hpp"

#include <vector>

#include "mpi.hpp"
#include "operators.hpp"

namespace bench {
namespace {

constexpr std::int64_t kMostPerRank = 1000;
constexpr std::int64_t kExactInFloat = 1 << 24;
constexpr int kNoResult = -12345678;

/// A fast hash of 32 bits (Wellons, "hash prospector").
std::uint32_t mixed(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ (x >> 16);
}

/// The numbers of one rank in one iteration.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t iteration, int of_rank)
      : key_(mixed(static_cast<std::uint32_t>(seed) +
                   mixed(static_cast<std::uint32_t>(iteration) +
                         mixed(static_cast<std::uint32_t>(of_rank))))) {}

  /// From 0 to below `bound`.
  [[nodiscard]] std::int64_t below(std::int64_t bound, std::int64_t i) const {
    const std::uint64_t draw = mixed(static_cast<std::uint32_t>(i) ^ key_);
    return static_cast<std::int64_t>((draw * static_cast<std::uint64_t>(bound)) >> 32);
  }

 private:
  std::uint32_t key_;
};

template <class T>
MPI_Datatype number_type();
template <>
MPI_Datatype number_type<float>() {
  return MPI_FLOAT;
}
template <>
MPI_Datatype number_type<double>() {
  return MPI_DOUBLE;
}
template <>
MPI_Datatype number_type<std::int32_t>() {
  return MPI_INT32_T;
}
template <>
MPI_Datatype number_type<std::int64_t>() {
  return MPI_INT64_T;
}

template <class T, template <class> class Operator>
class WorkloadOf final : public Workload {
 public:
  WorkloadOf(const Options& options, MPI_Op built_in)
      : seed_(options.seed),
        input_(static_cast<std::size_t>(options.count)),
        result_(input_.size()),
        right_(input_.size()),
        next_(input_.size()),
        op_(built_in) {
    if (op_ == MPI_OP_NULL) MPI_Op_create(reduce<T, Operator>, Operator<T>::kCommutes, &op_);
    MPI_Type_contiguous(kNumbers, number_type<T>(), &pair_);
    MPI_Type_commit(&pair_);
    built_in_ = built_in != MPI_OP_NULL;
  }
  ~WorkloadOf() override {
    MPI_Type_free(&pair_);
    if (!built_in_) MPI_Op_free(&op_);
  }

  void draw(std::uint64_t iteration) override {
    fill(input_, iteration, rank());
    // Every rank's data again, combined in rank order: no communication, no shared code.
    fill(right_, iteration, ranks() - 1);
    for (int other = ranks() - 2; other >= 0; --other) {
      fill(next_, iteration, other);
      for (std::size_t i = 0; i < right_.size(); i += kNumbers) {
        Meaning<T>::combine(&next_[i], &right_[i]);
      }
    }
  }
  void wipe() override { std::fill(result_.begin(), result_.end(), static_cast<T>(kNoResult)); }
  [[nodiscard]] std::int64_t wrong() const override {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < right_.size(); ++i) count += result_[i] == right_[i] ? 0 : 1;
    return count;
  }
  [[nodiscard]] const void* input() const override { return input_.data(); }
  [[nodiscard]] void* result() override { return result_.data(); }
  [[nodiscard]] int count() const override { return static_cast<int>(input_.size() / kNumbers); }
  [[nodiscard]] MPI_Datatype type() const override {
    return kNumbers == 1 ? number_type<T>() : pair_;
  }
  [[nodiscard]] MPI_Op op() const override { return op_; }

 private:
  static constexpr int kNumbers = Operator<T>::kNumbers;
  /// Slow sums mean plain ones.
  template <class N>
  using Meaning = std::conditional_t<std::is_same_v<Operator<N>, SlowSum<N>>, Sum<N>, Operator<N>>;

  void fill(std::vector<T>& numbers, std::uint64_t iteration, int of_rank) const {
    const Draws draws(seed_, iteration, of_rank);
    const std::int64_t most = std::min<std::int64_t>(kMostPerRank, kExactInFloat / ranks() - 1);
    const std::int64_t bound = kNumbers == 2 ? Compose<T>::kPrime : 2 * most + 1;
    const std::int64_t lowest = kNumbers == 2 ? 0 : -most;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<T>(lowest + draws.below(bound, static_cast<std::int64_t>(i)));
    }
  }

  std::uint64_t seed_;
  std::vector<T> input_, result_, right_, next_;
  MPI_Op op_;
  MPI_Datatype pair_ = MPI_DATATYPE_NULL;
  bool built_in_ = true;
};

template <class T>
std::unique_ptr<Workload> make(const Options& options) {
  if (options.op == "max") return std::make_unique<WorkloadOf<T, Max>>(options, MPI_MAX);
  if (options.op == "slow-sum") {
    return std::make_unique<WorkloadOf<T, SlowSum>>(options, MPI_OP_NULL);
  }
  if (options.op == "non-commutative") {
    return std::make_unique<WorkloadOf<T, Compose>>(options, MPI_OP_NULL);
  }
  return std::make_unique<WorkloadOf<T, Sum>>(options, MPI_SUM);
}

}  // namespace

std::unique_ptr<Workload> make_workload(const Options& options) {
  if (options.type == "float64") return make<double>(options);
  if (options.type == "int32") return make<std::int32_t>(options);
  if (options.type == "int64") return make<std::int64_t>(options);
  return make<float>(options);
}

int bytes_of(const std::string& type) { return type == "float64" || type == "int64" ? 8 : 4; }

}  // namespace bench
