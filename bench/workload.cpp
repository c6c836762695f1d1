#include "workload.hpp"

#include "mpi.hpp"
#include "operators.hpp"
#include "reading.hpp"

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

/// A rank's elements before and after a call, in numbers.
struct Sizes {
  std::int64_t input;
  std::int64_t result;
  std::int64_t part;  // of each rank; the whole vector where ranks have no parts
};

/// The part of each rank's image that is not clear.
std::vector<double> shares(const std::vector<double>& delays) {
  const double longest = *std::max_element(delays.begin(), delays.end());
  std::vector<double> all;
  for (const double delay : delays) all.push_back(longest > 0 ? delay / longest : 1);
  return all;
}

bool combines(const Options& options) {
  return options.collective == "allreduce" || options.collective == "reduce";
}

Sizes sizes_of(const Options& options) {
  const std::int64_t whole = options.count;
  const std::int64_t root = rank() == options.root ? whole : 0;
  const std::string& collective = options.collective;
  if (collective == "allreduce") return {whole, whole, whole};
  if (collective == "reduce") return {whole, root, whole};
  if (collective == "bcast") return {root, whole - root, whole};
  if (whole % ranks() != 0) {
    refuse("--count", std::to_string(whole),
           ("a multiple of the " + std::to_string(ranks()) + " ranks").c_str());
  }
  const std::int64_t part = whole / ranks();
  if (collective == "allgather") return {part, whole, part};
  if (collective == "gather") return {part, root, part};
  return {root, part, part};
}

template <class T, template <class> class Operator>
class WorkloadOf final : public Workload {
 public:
  WorkloadOf(const Options& options, MPI_Op built_in)
      : options_(options),
        sizes_(sizes_of(options)),
        input_(static_cast<std::size_t>(sizes_.input)),
        result_(static_cast<std::size_t>(sizes_.result)),
        right_(result_.size()),
        op_(built_in) {
    if (sizes_.part % kNumbers != 0) {
      refuse("--count", std::to_string(options.count),
             ("one that gives each rank whole elements of --op " + options.op + ", of " +
              std::to_string(kNumbers) + " numbers each")
                 .c_str());
    }
    // A built-in operator cannot be made slow.
    built_in_ = built_in != MPI_OP_NULL && options.imbalance != Imbalance::op;
    if (!built_in_) MPI_Op_create(reduce<T, Operator>, Operator<T>::kCommutes, &op_);
    MPI_Type_contiguous(kNumbers, number_type<T>(), &element_);
    MPI_Type_commit(&element_);
  }
  ~WorkloadOf() override {
    MPI_Type_free(&element_);
    if (!built_in_) MPI_Op_free(&op_);
  }

  void draw(std::uint64_t iteration, const std::vector<double>& delays) override {
    if (options_.imbalance == Imbalance::data) shares_ = shares(delays);
    fill(input_, iteration, rank());
    if (right_.empty()) return;
    // Every rank's data again: no communication, no shared code.
    if (combines(options_)) return draw_combined(iteration);
    if (options_.collective == "bcast") return fill(right_, iteration, options_.root);
    if (options_.collective == "scatter") return draw_own_part(iteration);
    draw_all_parts(iteration);
  }
  void wipe() override { std::fill(result_.begin(), result_.end(), static_cast<T>(kNoResult)); }
  [[nodiscard]] std::int64_t wrong() const override {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < right_.size(); ++i) count += result_[i] == right_[i] ? 0 : 1;
    return count;
  }
  [[nodiscard]] const void* input() const override { return input_.data(); }
  [[nodiscard]] void* result() override { return result_.data(); }
  [[nodiscard]] int count() const override { return static_cast<int>(sizes_.part / kNumbers); }
  [[nodiscard]] MPI_Datatype type() const override {
    return kNumbers == 1 ? number_type<T>() : element_;
  }
  [[nodiscard]] MPI_Op op() const override { return op_; }

 private:
  static constexpr int kNumbers = Operator<T>::kNumbers;
  /// Slow sums mean plain ones.
  template <class N>
  using Meaning = std::conditional_t<std::is_same_v<Operator<N>, SlowSum<N>>, Sum<N>, Operator<N>>;

  /// Combined in rank order.
  void draw_combined(std::uint64_t iteration) {
    next_.resize(right_.size());
    fill(right_, iteration, ranks() - 1);
    for (int other = ranks() - 2; other >= 0; --other) {
      fill(next_, iteration, other);
      for (std::size_t i = 0; i < right_.size(); i += kNumbers) {
        Meaning<T>::combine(&next_[i], &right_[i]);
      }
    }
  }
  void draw_all_parts(std::uint64_t iteration) {
    next_.resize(static_cast<std::size_t>(sizes_.part));
    for (int other = 0; other < ranks(); ++other) {
      fill(next_, iteration, other);
      std::copy(next_.begin(), next_.end(), right_.begin() + other * sizes_.part);
    }
  }
  void draw_own_part(std::uint64_t iteration) {
    next_.resize(static_cast<std::size_t>(options_.count));
    fill(next_, iteration, options_.root);
    const auto own = next_.begin() + rank() * sizes_.part;
    std::copy(own, own + sizes_.part, right_.begin());
  }

  void fill(std::vector<T>& numbers, std::uint64_t iteration, int of_rank) const {
    const Draws draws(options_.seed, iteration, of_rank);
    const std::int64_t most = std::min<std::int64_t>(kMostPerRank, kExactInFloat / ranks() - 1);
    const std::int64_t bound = kNumbers == 2 ? Compose<T>::kPrime : 2 * most + 1;
    const std::int64_t lowest = kNumbers == 2 ? 0 : -most;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<T>(lowest + draws.below(bound, static_cast<std::int64_t>(i)));
    }
    if (kNumbers != 4) return;
    if (shares_.empty()) return make_pixels(numbers, draws);
    make_image(numbers, draws, shares_[static_cast<std::size_t>(of_rank)]);
  }
  /// Most of them are clear: those have no colour.
  static void make_pixels(std::vector<T>& numbers, const Draws& draws) {
    for (std::size_t i = 0; i + 3 < numbers.size(); i += 4) {
      make_pixel(&numbers[i], draws.below(4, static_cast<std::int64_t>(i + 3)) != 0);
    }
  }
  /// One stretch of it shows something, as an object does: from a random pixel on, round the end.
  static void make_image(std::vector<T>& numbers, const Draws& draws, double share) {
    const auto pixels = static_cast<std::int64_t>(numbers.size() / 4);
    const auto shown = static_cast<std::int64_t>(share * static_cast<double>(pixels));
    const std::int64_t first = draws.below(pixels, 4 * pixels);
    for (std::int64_t i = 0; i < pixels; ++i) {
      make_pixel(&numbers[static_cast<std::size_t>(4 * i)], (i - first + pixels) % pixels >= shown);
    }
  }
  static void make_pixel(T* pixel, bool clear) {
    if (clear) std::fill(pixel, pixel + 3, T{0});
    pixel[3] = static_cast<T>(clear ? 0 : 1);
  }

  Options options_;
  Sizes sizes_;
  std::vector<T> input_, result_, right_, next_;
  std::vector<double> shares_;  // by rank; none: all images are alike
  MPI_Op op_;
  MPI_Datatype element_ = MPI_DATATYPE_NULL;
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
  if (options.op == "over") return std::make_unique<WorkloadOf<T, Over>>(options, MPI_OP_NULL);
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
