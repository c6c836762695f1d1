// Datatypes whose elements reach into each other, lie backwards, or hold little data for the memory
// that they span: every byte is where MPI puts it, and nothing else is touched.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/reproducible.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runner.hpp"

namespace latecomer::testing {
namespace {

/// Integers at these bytes of an element; elements lie `extent` bytes apart.
struct Shape {
  const char* name;
  std::vector<MPI_Aint> places;
  MPI_Aint lower;
  MPI_Aint extent;
};

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = {
      {"column", {0, 4000, 8000}, 0, 4},
      {"negative extent", {0, 4}, 0, -8},
      {"negative extent with holes", {0, 12}, 0, -20},
      {"negative extent, one in the other", {0, 4000}, 0, -4},
      {"negative place", {-8, 4}, -8, 16},
      {"negative lower bound", {0, 4}, -16, 24},
      {"lower bound above", {0, 4}, 12, 8},
      {"backwards", {8, 4, 0}, 0, 12},
      {"negative places and extent", {-4, -12}, 0, -12},
  };
  return all;
}

/// The shape as MPI's datatype; the operator finds it by `current`.
class Made {
 public:
  explicit Made(const Shape& shape) {
    const std::vector<int> ones(shape.places.size(), 1);
    MPI_Datatype inner = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed(static_cast<int>(ones.size()), ones.data(), shape.places.data(),
                             MPI_INT, &inner);
    MPI_Type_create_resized(inner, shape.lower, shape.extent, &type_);
    MPI_Type_free(&inner);
    MPI_Type_commit(&type_);
    current = &shape;
    MPI_Op_create(add_elements, 1, &op_);
  }
  ~Made() {
    MPI_Op_free(&op_);
    MPI_Type_free(&type_);
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

  [[nodiscard]] MPI_Datatype type() const { return type_; }
  [[nodiscard]] MPI_Op op() const { return op_; }

 private:
  static void add_elements(void* in, void* inout, int* count, MPI_Datatype*) {
    for (int i = 0; i < *count; ++i) {
      for (const MPI_Aint place : current->places) {
        const MPI_Aint at = i * current->extent + place;
        int theirs = 0;
        int mine = 0;
        std::memcpy(&theirs, static_cast<char*>(in) + at, sizeof theirs);
        std::memcpy(&mine, static_cast<char*>(inout) + at, sizeof mine);
        mine += theirs;
        std::memcpy(static_cast<char*>(inout) + at, &mine, sizeof mine);
      }
    }
  }

  static inline const Shape* current = nullptr;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_Op op_ = MPI_OP_NULL;
};

/// Memory with room for elements on both sides of their base.
class Memory {
 public:
  Memory(const Shape& shape, int count) : shape_(shape), bytes_(2 * room(count), '#') {}

  [[nodiscard]] void* base() { return bytes_.data() + bytes_.size() / 2; }
  /// Sets the numbers of elements from `first` on.
  void set(int first, const std::vector<int>& numbers) {
    const std::size_t each = shape_.places.size();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const MPI_Aint element = first + static_cast<MPI_Aint>(i / each);
      std::memcpy(static_cast<char*>(base()) + element * shape_.extent + shape_.places[i % each],
                  &numbers[i], sizeof(int));
    }
  }
  [[nodiscard]] bool operator==(const Memory& other) const { return bytes_ == other.bytes_; }

 private:
  [[nodiscard]] std::size_t room(int count) const {
    return static_cast<std::size_t>(std::abs(shape_.extent) * count + 10000);
  }

  const Shape& shape_;
  std::vector<char> bytes_;
};

/// One rank's numbers.
std::vector<int> numbers_of(const Shape& shape, int count, std::uint64_t seed, int rank) {
  Random random(seed + static_cast<std::uint64_t>(rank));
  std::vector<int> all(shape.places.size() * static_cast<std::size_t>(count));
  for (int& number : all) number = static_cast<int>(random.below(1000));
  return all;
}

struct Job {
  const Shape& shape;
  int count;
  std::uint64_t seed;
  const Context& context;
  MPI_Comm comm;

  [[nodiscard]] std::vector<int> numbers(int rank) const {
    return numbers_of(shape, count, seed, rank);
  }
  [[nodiscard]] Memory memory(int parts = 1) const { return Memory(shape, count * parts); }
  /// A memory with the numbers of all ranks, a part each.
  [[nodiscard]] Memory gathered() const {
    Memory all = memory(context.ranks);
    for (int rank = 0; rank < context.ranks; ++rank) all.set(rank * count, numbers(rank));
    return all;
  }
  [[nodiscard]] Memory own() const {
    Memory mine = memory();
    mine.set(0, numbers(context.rank));
    return mine;
  }
};

bool moves(const Job& job, const Made& made) {
  const int root = job.context.ranks - 1;
  const bool am_root = job.context.rank == root;
  bool right = true;
  Memory mine = job.own();
  Memory all = job.memory(job.context.ranks);
  latecomer_allgather(mine.base(), job.count, made.type(), all.base(), job.count, made.type(),
                      job.comm);
  right = right && all == job.gathered() && mine == job.own();

  Memory at_root = job.memory(job.context.ranks);
  latecomer_gather(mine.base(), job.count, made.type(), at_root.base(), job.count, made.type(),
                   root, job.comm);
  right = right && (at_root == (am_root ? job.gathered() : job.memory(job.context.ranks)));

  Memory part = job.memory();
  Memory parts = job.gathered();
  latecomer_scatter(parts.base(), job.count, made.type(), part.base(), job.count, made.type(), root,
                    job.comm);
  right = right && part == job.own();

  Memory sent = am_root ? job.own() : job.memory();
  latecomer_bcast(sent.base(), job.count, made.type(), root, job.comm);
  Memory wanted = job.memory();
  wanted.set(0, job.numbers(root));
  return right && sent == wanted;
}

bool reduces(const Job& job, const Made& made) {
  std::vector<int> sums = job.numbers(0);
  for (int rank = 1; rank < job.context.ranks; ++rank) {
    const std::vector<int> theirs = job.numbers(rank);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += theirs[i];
  }
  Memory wanted = job.memory();
  wanted.set(0, sums);
  Memory mine = job.own();
  Memory result = job.memory();
  latecomer_allreduce(mine.base(), result.base(), job.count, made.type(), made.op(), job.comm);
  bool right = result == wanted && mine == job.own();

  Memory at_root = job.memory();
  latecomer_reduce(mine.base(), at_root.base(), job.count, made.type(), made.op(), 0, job.comm);
  right = right && (at_root == (job.context.rank == 0 ? wanted : job.memory()));

  Memory in_place = job.own();
  latecomer_allreduce(MPI_IN_PLACE, in_place.base(), job.count, made.type(), made.op(), job.comm);
  return right && in_place == wanted;
}

void set_all(MPI_Comm comm, const std::string& algorithm) {
  for (const char* const each :
       {"allreduce", "reduce", "bcast", "allgather", "gather", "scatter"}) {
    latecomer_set_algorithm(comm, each, algorithm.c_str());
  }
}

/// Open MPI 4.1 frees addresses that it never had in MPI_Gather and MPI_Allgather of elements that
/// lie backwards, so the library is not asked about these. With more ranks columns would meet.
MPI_TEST(elements_that_reach_into_each_other_or_lie_backwards) {
  std::uint64_t seed = context.seed;
  for (const char* const algorithm : {"fastest", "native"}) {
    const Communicator comm;
    set_all(comm, algorithm);
    for (const Shape& shape : shapes()) {
      if (context.ranks > 7 || (algorithm == std::string("native") && shape.extent < 0)) continue;
      const Made made(shape);
      for (const int count : {1, 2, 40, 97}) {
        const Job job{shape, count, ++seed, context, comm};
        CHECK_TEXT(moves(job, made), std::string(shape.name) + " moved by " + algorithm);
        CHECK_TEXT(reduces(job, made), std::string(shape.name) + " reduced by " + algorithm);
      }
    }
  }
}

/// An element spans 1.6 MB, and the next one begins 4 bytes later: scratch for them would take
/// hundreds of megabytes, where the vector takes two.
MPI_TEST(elements_that_span_much_memory_are_the_librarys_to_reduce) {
  const Shape shape{"long column", {0, 800000, 1600000}, 0, 4};
  const Made made(shape);
  const Communicator comm;
  set_all(comm, "fastest");
  constexpr int kCount = 1000;
  std::vector<int> mine(400001 + kCount, 1);
  std::vector<int> result(mine.size(), -1);
  CHECK_EQ(latecomer_allreduce(mine.data(), result.data(), kCount, made.type(), made.op(), comm),
           MPI_SUCCESS);
  for (const int i : {0, kCount - 1, 200000, 400000 + kCount - 1}) {
    CHECK_EQ(result[static_cast<std::size_t>(i)], context.ranks);
  }
  CHECK_EQ(result[kCount], -1);
  if (context.ranks > 1) CHECK_EQ(stats_of(comm).fallback_type, 1U);
  // A few of them are not much.
  CHECK_EQ(latecomer_allreduce(mine.data(), result.data(), 10, made.type(), made.op(), comm),
           MPI_SUCCESS);
  if (context.ranks > 1) CHECK_EQ(stats_of(comm).handled, 1U);
  // Data that are only moved are packed, however much they span.
  CHECK_EQ(latecomer_bcast(mine.data(), kCount, made.type(), 0, comm), MPI_SUCCESS);
  if (context.ranks > 1) CHECK_EQ(stats_of(comm).handled, 2U);
  CHECK_EQ(stats_of(comm).failed, 0U);
}

}  // namespace
}  // namespace latecomer::testing
