// Datatypes: those that MPI defines, by whatever name, and how those that users make lie in memory.
#include "runtime/call/datatypes.hpp"

#include <complex>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "base/reproducible.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runner.hpp"
#include "transports/mpi/buffers.hpp"
#include "transports/mpi/layout.hpp"
#include "transports/mpi/user_code.hpp"

namespace latecomer::testing {
namespace {

/// Calls work(number, datatype) for all datatypes that have one.
template <class Work>
void for_each_datatype(Work work) {
  for (std::uint16_t number = 0; number < 200; ++number) {
    try {
      work(number, datatype_numbered(number));
    } catch (const Error&) {
      // this library has none with it
    }
  }
}

#ifdef MPICH_VERSION
constexpr bool kOfMpich = true;
#else
constexpr bool kOfMpich = false;
#endif

MPI_TEST(operators_are_defined_where_the_library_computes) {
  const ReturnedErrorsEverywhere returned;
  int tried = 0;
  for_each_datatype([&](int number, MPI_Datatype type) {
    for (std::uint16_t which = 0; which < 12; ++which) {
      alignas(64) char in[64] = {};
      alignas(64) char inout[64] = {};
      const MPI_Op op = operator_numbered(which);
      const int code = PMPI_Reduce_local(in, inout, 1, type, op);
      // MPICH's of 16 bytes are left to it: older ones lack them.
      if (kOfMpich && !defined_on(op, type) && size_of(type) == 16) continue;
      CHECK_TEXT(defined_on(op, type) == (code == MPI_SUCCESS),
                 "operator " + std::to_string(which) + ", datatype " + std::to_string(number) +
                     ": the library's code is " + std::to_string(code));
      ++tried;
    }
  });
  CHECK(tried > 12 * 40);
}

MPI_TEST(the_size_of_a_datatype_is_mpis) {
  for_each_datatype([&](int, MPI_Datatype type) {
    int bytes = 0;
    MPI_Type_size(type, &bytes);
    CHECK_EQ(size_of(type), Count{bytes});
  });
  CHECK(predefined(MPI_INT) != nullptr);
  CHECK_EQ(predefined(MPI_INT)->number, predefined(MPI_INT32_T)->number);
  CHECK(predefined(MPI_INT)->number != predefined(MPI_UNSIGNED)->number);
  CHECK(predefined(MPI_INT)->number != predefined(MPI_FLOAT)->number);
  CHECK(predefined(MPI_DATATYPE_NULL) == nullptr);
}

/// Open MPI's MPI_UNSIGNED_LONG is signed there. Long enough to be announced by progress threads.
MPI_TEST(integers_are_compared_as_the_library_does) {
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "recursive_doubling");
  constexpr int kCount = 1 << 15;
  for (const MPI_Datatype type :
       {MPI_LONG, MPI_UNSIGNED_LONG, MPI_INT64_T, MPI_UINT64_T, MPI_UNSIGNED_LONG_LONG, MPI_AINT,
        MPI_OFFSET, MPI_COUNT, MPI_UNSIGNED, MPI_UINT16_T, MPI_INT8_T, MPI_UINT8_T}) {
    Random random(context.seed + static_cast<std::uint64_t>(context.rank));
    std::vector<std::uint64_t> in(kCount);
    for (std::uint64_t& each : in) each = random.next();
    for (const MPI_Op op : {MPI_MAX, MPI_MIN}) {
      std::vector<std::uint64_t> ours(in.size());
      std::vector<std::uint64_t> librarys(in.size());
      CHECK_EQ(latecomer_allreduce(in.data(), ours.data(), kCount, type, op, comm), MPI_SUCCESS);
      PMPI_Allreduce(in.data(), librarys.data(), kCount, type, op, comm);
      CHECK(ours == librarys);
    }
  }
}

/// One number under the names that different languages have for it.
template <class T>
struct Names {
  std::vector<MPI_Datatype> types;
  MPI_Op op;
  T (*of)(int rank, int place);
};

/// Each rank names the datatype in its own way, in each call another one.
template <class T>
void reduce_under(const Context& context, const char* algorithm, const Names<T>& names) {
  constexpr int kCount = 300;
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", algorithm);
  for (std::size_t shift = 0; shift < names.types.size(); ++shift) {
    std::vector<T> mine(kCount);
    std::vector<T> result(kCount);
    std::vector<T> wanted(kCount);
    for (int i = 0; i < kCount; ++i) {
      std::memset(static_cast<void*>(&mine[i]), 0, sizeof(T));
      mine[i] = names.of(context.rank, i);
    }
    result = wanted = mine;  // the gap between the numbers of a pair has no value
    PMPI_Allreduce(mine.data(), wanted.data(), kCount, names.types[0], names.op, MPI_COMM_WORLD);
    const std::size_t which = (static_cast<std::size_t>(context.rank) + shift) % names.types.size();
    CHECK_EQ(
        latecomer_allreduce(mine.data(), result.data(), kCount, names.types[which], names.op, comm),
        MPI_SUCCESS);
    CHECK_TEXT(std::memcmp(result.data(), wanted.data(), kCount * sizeof(T)) == 0,
               std::string(algorithm) + ": wrong result under name " + std::to_string(which));
  }
  latecomer_stats stats{};
  latecomer_get_stats(comm, &stats);
  CHECK_EQ(stats.handled, context.ranks > 1 ? names.types.size() : 0U);
}

struct IntegerPair {
  int value, place;
};

MPI_TEST(ranks_may_name_a_datatype_differently) {
  MPI_Datatype kind = MPI_DATATYPE_NULL;
  MPI_Type_create_f90_real(12, 100, &kind);
  for (const char* const algorithm : {"ring", "linear_tree"}) {
    reduce_under<double>(context, algorithm,
                         {{MPI_DOUBLE, MPI_DOUBLE_PRECISION, MPI_REAL8, kind},
                          MPI_SUM,
                          [](int rank, int i) { return 1.0 * rank + i; }});
    reduce_under<float>(context, algorithm,
                        {{MPI_FLOAT, MPI_REAL4, MPI_REAL}, MPI_MAX, [](int rank, int i) {
                           return static_cast<float>((rank * 7 + i) % 5);
                         }});
    reduce_under<std::int32_t>(context, algorithm,
                               {{MPI_INT, MPI_INTEGER, MPI_INT32_T, MPI_INTEGER4},
                                MPI_BXOR,
                                [](int rank, int i) { return rank * 1000 + i; }});
    reduce_under<std::int64_t>(context, algorithm,
                               {{MPI_LONG, MPI_INTEGER8, MPI_LONG_LONG, MPI_AINT, MPI_COUNT},
                                MPI_PROD,
                                [](int rank, int i) { return std::int64_t{rank + i}; }});
    reduce_under<std::complex<double>>(
        context, algorithm,
        {{MPI_C_DOUBLE_COMPLEX, MPI_CXX_DOUBLE_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX16},
         MPI_SUM,
         [](int rank, int i) { return std::complex<double>(rank, i); }});
    reduce_under<char>(context, algorithm,
                       {{MPI_C_BOOL, MPI_CXX_BOOL}, MPI_LXOR, [](int rank, int i) {
                          return static_cast<char>((rank + i) % 2);
                        }});
    reduce_under<IntegerPair>(context, algorithm,
                              {{MPI_2INT, MPI_2INTEGER}, MPI_MAXLOC, [](int rank, int i) {
                                 return IntegerPair{(rank * 3 + i) % 4, rank};
                               }});
  }
}

// --- Datatypes of the user's ---

/// Made at random of others, mostly so that nothing lies between the data.
class RandomTypes {
 public:
  explicit RandomTypes(Random& random) : random_(random) {}
  ~RandomTypes() {
    for (MPI_Datatype& type : made_) MPI_Type_free(&type);
  }
  RandomTypes(const RandomTypes&) = delete;
  RandomTypes& operator=(const RandomTypes&) = delete;

  MPI_Datatype draw(int depth) {
    const MPI_Datatype named[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR, MPI_SHORT_INT, MPI_2INT};
    if (depth == 0) return named[random_.below(5)];
    const MPI_Datatype inner = draw(depth - 1);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    make(inner, &type);
    MPI_Type_commit(&type);
    made_.push_back(type);
    return type;
  }

 private:
  void make(MPI_Datatype inner, MPI_Datatype* type) {
    const Layout layout(inner);
    const int blocks = small();
    const int length = small();
    const int step = length + odd();
    switch (random_.below(8)) {
      case 0:
        return void(MPI_Type_contiguous(blocks, inner, type));
      case 1:
        return void(MPI_Type_vector(blocks, length, step, inner, type));
      case 2:
        return void(MPI_Type_create_hvector(blocks, length, step * layout.extent, inner, type));
      case 3:
        return void(MPI_Type_create_resized(inner, 0, layout.true_extent + 4 * odd(), type));
      case 4:
        return void(MPI_Type_dup(inner, type));
      default:
        return scatter(inner, layout, type);
    }
  }
  /// Blocks one behind the other, seldom with a gap, seldom in another order.
  void scatter(MPI_Datatype inner, const Layout& layout, MPI_Datatype* type) {
    std::vector<int> lengths, places;
    std::vector<MPI_Aint> bytes;
    int next = odd();
    for (int i = small(); i > 0; --i) {
      lengths.push_back(small() - 1);
      places.push_back(next);
      next += lengths.back() + odd();
    }
    if (odd() > 0) std::swap(places.front(), places.back());
    for (const int place : places) bytes.push_back(place * layout.extent);
    const int count = static_cast<int>(places.size());
    switch (random_.below(5)) {
      case 0:
        return void(MPI_Type_indexed(count, lengths.data(), places.data(), inner, type));
      case 1:
        return void(MPI_Type_create_hindexed(count, lengths.data(), bytes.data(), inner, type));
      case 2:
        return void(MPI_Type_create_indexed_block(count, 1, places.data(), inner, type));
      case 3:
        return void(MPI_Type_create_hindexed_block(count, 1, bytes.data(), inner, type));
      default:
        const std::vector<MPI_Datatype> types(places.size(), inner);
        return void(
            MPI_Type_create_struct(count, lengths.data(), bytes.data(), types.data(), type));
    }
  }
  int small() { return 1 + static_cast<int>(random_.below(3)); }
  int odd() { return random_.below(6) == 0 ? 1 : 0; }

  Random& random_;
  std::vector<MPI_Datatype> made_;
};

/// True if MPI sends three elements as their bytes are in memory.
bool sent_as_they_lie(const Layout& layout) {
  constexpr int kCount = 3;
  constexpr Count kMargin = 4096;
  std::vector<char> memory(static_cast<std::size_t>(2 * kMargin + kCount * layout.extent));
  Random random(17);
  for (char& byte : memory) byte = static_cast<char>(random.below(256));
  const std::size_t bytes = static_cast<std::size_t>(kCount * layout.size);
  std::vector<char> packed(bytes + 64);
  int position = 0;
  MPI_Pack(memory.data() + kMargin, kCount, layout.type, packed.data(),
           static_cast<int>(packed.size()), &position, MPI_COMM_WORLD);
  return position == static_cast<int>(bytes) &&
         std::memcmp(packed.data(), memory.data() + kMargin + layout.true_lb, bytes) == 0;
}

MPI_TEST(what_is_in_a_row_is_sent_as_it_lies) {
  Random random(context.seed);
  int in_rows = 0;
  const int draws = context.quick ? 500 : 3000;
  for (int i = 0; i < draws; ++i) {
    RandomTypes types(random);
    const Layout layout(types.draw(1 + static_cast<int>(random.below(3))));
    if (layout.size == 0) continue;
    const bool row = in_a_row(layout);
    in_rows += row ? 1 : 0;
    // Data that are sent as they lie, but of elements that are apart, are in no row.
    CHECK_TEXT(row == (layout.contiguous() && sent_as_they_lie(layout)),
               "draw " + std::to_string(i) + ": in a row is " + std::to_string(row));
  }
  CHECK(in_rows > draws / 10);
}

MPI_TEST(other_datatypes_are_not_known_to_be_in_a_row) {
  const int sizes[] = {4, 4};
  const int starts[] = {0, 0};
  MPI_Datatype all = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(2, sizes, sizes, starts, MPI_ORDER_C, MPI_INT, &all);
  CHECK(!in_a_row(Layout(all)));
  MPI_Type_free(&all);
  MPI_Datatype kind = MPI_DATATYPE_NULL;
  MPI_Type_create_f90_integer(5, &kind);
  CHECK(in_a_row(Layout(kind)));
}

struct Particle {
  double place[3];
  int id, charge;
};

MPI_Datatype particles(bool backwards) {
  const int lengths[] = {3, 1, 1};
  const MPI_Aint id = offsetof(Particle, id);
  const MPI_Aint charge = offsetof(Particle, charge);
  const MPI_Aint places[] = {0, backwards ? charge : id, backwards ? id : charge};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT, MPI_INT};
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(3, lengths, places, types, &made);
  MPI_Type_commit(&made);
  return made;
}

/// The root's elements are in a row, the others' have the last two numbers exchanged.
MPI_TEST(a_struct_without_holes_is_moved) {
  constexpr int kCount = 1000;
  const Communicator comm;
  latecomer_set_algorithm(comm, "bcast", "binomial");
  const bool root = context.rank == 0;
  MPI_Datatype type = particles(!root);
  std::vector<Particle> all(kCount);
  for (int i = 0; root && i < kCount; ++i) all[i] = {{1.0 * i, 2.0 * i, 3.0 * i}, i, -i};
  CHECK_EQ(in_a_row(Layout(type)), root);
  CHECK_EQ(latecomer_bcast(all.data(), kCount, type, 0, comm), MPI_SUCCESS);
  bool right = true;
  for (int i = 0; i < kCount; ++i) {
    const Particle& got = all[i];
    right = right && got.place[2] == 3.0 * i && got.id == (root ? i : -i) &&
            got.charge == (root ? -i : i);
  }
  CHECK(right);
  MPI_Type_free(&type);
}

#if MPI_VERSION >= 4
/// MPI's earlier functions must not be asked how these were made.
MPI_TEST(datatypes_of_large_counts_are_moved) {
  MPI_Datatype row = MPI_DATATYPE_NULL;
  MPI_Type_contiguous_c(1000, MPI_INT, &row);
  const MPI_Count lengths[] = {1, 1};
  const MPI_Count apart[] = {0, 100};
  const MPI_Count close[] = {0, sizeof(int)};
  const MPI_Datatype types[] = {MPI_INT, MPI_INT};
  MPI_Datatype holes = MPI_DATATYPE_NULL;
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  MPI_Type_indexed_c(2, lengths, apart, MPI_INT, &holes);
  MPI_Type_create_struct_c(2, lengths, close, types, &pair);
  const Communicator comm;
  latecomer_set_algorithm(comm, "bcast", "binomial");
  for (MPI_Datatype* type : {&row, &holes, &pair}) {
    MPI_Type_commit(type);
    CHECK_EQ(in_a_row(Layout(*type)), type != &holes);
    std::vector<int> got(1000, context.rank);
    CHECK_EQ(latecomer_bcast(got.data(), 1, *type, 0, comm), MPI_SUCCESS);
    CHECK_EQ(got[0], 0);
    CHECK_EQ(got[100], type == &pair ? context.rank : 0);
    CHECK_EQ(got[50], type == &row ? 0 : context.rank);
    MPI_Type_free(type);
  }
  latecomer_stats stats{};
  latecomer_get_stats(comm, &stats);
  CHECK_EQ(stats.handled, context.ranks > 1 ? 3U : 0U);
}
#endif

}  // namespace
}  // namespace latecomer::testing
