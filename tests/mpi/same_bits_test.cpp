// Every all-reduce of the registry x awkward elements: NaNs with payloads, zeros, infinities and
// denormals of both signs. All ranks must get the same bits, whatever the operator makes of them.
#include <complex>
#include <cstring>
#include <functional>
#include <vector>

#include "algorithms/registry.hpp"
#include "base/random.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runner.hpp"
#include "runtime/call/operators.hpp"
#include "variable.hpp"

namespace latecomer::testing {
namespace {

template <class Number, class Bits>
Number awkward(Random& random, Bits infinity, Bits quiet) {
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  const auto bits = static_cast<Bits>(random.next());
  const Bits sign = bits & kSign;
  const Bits kinds[] = {sign, sign | infinity, sign | infinity | quiet | (bits & 0xff),
                        sign | (bits & 0xfff)};
  const std::uint64_t kind = random.below(6);
  if (kind >= std::size(kinds)) return static_cast<Number>(random.below(5)) - 2;
  Number number;
  std::memcpy(&number, &kinds[kind], sizeof number);
  return number;
}

double awkward_double(Random& random) {
  return awkward<double, std::uint64_t>(random, 0x7ff0000000000000ULL, 0x0008000000000000ULL);
}
float awkward_float(Random& random) {
  return awkward<float, std::uint32_t>(random, 0x7f800000U, 0x00400000U);
}

/// A type of elements, and an operator that may not commute in bits.
struct Awkward {
  const char* name;
  MPI_Datatype type;
  MPI_Op op;
  std::size_t extent;
  std::size_t significant;  // bytes of an element that count: the rest is padding
  std::function<void(Random&, char*)> draw;
};

template <class T>
std::function<void(Random&, char*)> drawing(T (*draw)(Random&)) {
  return [draw](Random& random, char* place) {
    const T value = draw(random);
    std::memcpy(place, &value, sizeof value);
  };
}

/// A number and its place.
template <class T>
struct Located {
  T number;
  int place;
};

/// A user's operator on bits: commutative by name only.
void mix(void* in, void* inout, int* length, MPI_Datatype* /*type*/) {
  const auto* const left = static_cast<const std::uint64_t*>(in);
  auto* const right = static_cast<std::uint64_t*>(inout);
  for (int i = 0; i < *length; ++i) {
    right[i] = (left[i] * 0x9e3779b97f4a7c15ULL) ^ (right[i] * 0xc2b2ae3d27d4eb4fULL + 1);
  }
}

std::vector<Awkward> awkward_kinds(MPI_Op users) {
  const auto numbers = drawing<double>(awkward_double);
  const auto floats = drawing<float>(awkward_float);
  const auto located = drawing<Located<double>>([](Random& random) {
    Located<double> value{};
    value.number = awkward_double(random);
    value.place = static_cast<int>(random.below(4));
    return value;
  });
  const auto both = drawing<std::complex<double>>([](Random& random) {
    const double real = awkward_double(random);
    return std::complex<double>(real, awkward_double(random));
  });
  const auto bits = drawing<std::uint64_t>([](Random& random) { return random.next(); });
  return {{"max of doubles", MPI_DOUBLE, MPI_MAX, 8, 8, numbers},
          {"min of doubles", MPI_DOUBLE, MPI_MIN, 8, 8, numbers},
          {"sum of doubles", MPI_DOUBLE, MPI_SUM, 8, 8, numbers},
          {"product of doubles", MPI_DOUBLE, MPI_PROD, 8, 8, numbers},
          {"max of floats", MPI_FLOAT, MPI_MAX, 4, 4, floats},
          {"sum of floats", MPI_FLOAT, MPI_SUM, 4, 4, floats},
          {"maxloc", MPI_DOUBLE_INT, MPI_MAXLOC, sizeof(Located<double>), 12, located},
          {"minloc", MPI_DOUBLE_INT, MPI_MINLOC, sizeof(Located<double>), 12, located},
          {"complex product", MPI_C_DOUBLE_COMPLEX, MPI_PROD, 16, 16, both},
          {"complex sum", MPI_C_DOUBLE_COMPLEX, MPI_SUM, 16, 16, both},
          {"a user's operator", MPI_UINT64_T, users, 8, 8, bits}};
}

/// The bytes of the elements that count.
std::vector<char> significant(const Awkward& kind, const std::vector<char>& elements) {
  std::vector<char> bytes;
  for (std::size_t at = 0; at < elements.size(); at += kind.extent) {
    bytes.insert(bytes.end(), &elements[at], &elements[at] + kind.significant);
  }
  return bytes;
}

struct Asked {
  std::string algorithm;
  int count;
  bool in_place;
  std::uint64_t seed;
};

void check_same_bits(MPI_Comm comm, const Context& context, const Awkward& kind,
                     const Asked& asked) {
  Random random(asked.seed * 1000003 + static_cast<std::uint64_t>(context.rank));
  std::vector<char> own(static_cast<std::size_t>(asked.count) * kind.extent);
  for (std::size_t at = 0; at < own.size(); at += kind.extent) kind.draw(random, &own[at]);
  std::vector<char> result = own;
  CHECK_EQ(latecomer_allreduce(asked.in_place ? MPI_IN_PLACE : own.data(), result.data(),
                               asked.count, kind.type, kind.op, comm),
           MPI_SUCCESS);
  const std::vector<char> mine = significant(kind, result);
  std::vector<char> first = mine;
  MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
  CHECK_TEXT(mine == first, asked.algorithm + ", " + kind.name + ", count " +
                                std::to_string(asked.count) + ", seed " +
                                std::to_string(asked.seed) + ": other bits than on rank 0");
}

/// Names the algorithms, since `auto` may take the MPI library's own all-reduce, which gives only
/// the bits that this library promises.
std::vector<std::string> own_algorithms() {
  std::vector<std::string> names;
  for (const Algorithm& row : registry(Collective::allreduce)) {
    if (row.kind == latecomer::Kind::program && row.name != "auto") names.emplace_back(row.name);
  }
  names.emplace_back("generalized:group=cyclic");
  names.emplace_back("generalized:piece=3");
  names.emplace_back("online_nodes:blocks=6");
  return names;
}

MPI_TEST(all_ranks_get_the_same_bits_of_awkward_elements) {
  MPI_Op users = MPI_OP_NULL;
  MPI_Op_create(mix, 1, &users);
  Random random(context.seed);
  const int ranks = context.ranks;
  for (const std::string& algorithm : own_algorithms()) {
    const bool on_nodes = algorithm.starts_with("online_nodes");
    const Variable nodes("LATECOMER_NODES", on_nodes ? "2" : "1000");
    const Communicator comm;
    CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", algorithm.c_str()), MPI_SUCCESS);
    for (const Awkward& kind : awkward_kinds(users)) {
      for (const int count : {1, ranks - 1, ranks, ranks + 1, 19, context.quick ? 203 : 2003}) {
        const std::uint64_t seed = random.next();
        if (context.quick && seed % 2 == 0) continue;
        check_same_bits(comm, context, kind, {algorithm, count, random.below(2) == 1, seed});
      }
    }
  }
  MPI_Op_free(&users);
}

/// With a NaN or zeros of both signs also a maximum depends on the order.
MPI_TEST(only_integers_and_bits_are_exact) {
  for (const MPI_Op op : {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN}) {
    CHECK(exact(op, MPI_INT));
    for (const MPI_Datatype type : {MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_C_DOUBLE_COMPLEX}) {
      CHECK(!exact(op, type));
    }
  }
  for (const MPI_Op op : {MPI_MAXLOC, MPI_MINLOC}) {
    CHECK(exact(op, MPI_2INT));
    CHECK(!exact(op, MPI_DOUBLE_INT));
    CHECK(!exact(op, MPI_FLOAT_INT));
  }
  CHECK(exact(MPI_LAND, MPI_C_BOOL));
  CHECK(exact(MPI_BXOR, MPI_BYTE));
  MPI_Op users = MPI_OP_NULL;
  MPI_Op_create(mix, 1, &users);
  CHECK(!exact(users, MPI_INT));
  MPI_Op_free(&users);
}

}  // namespace
}  // namespace latecomer::testing
