#include "kinds.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace latecomer::testing {
namespace {

Value draw_small(Random& random) { return {static_cast<double>(random.below(2001)) - 1000, 0}; }

template <class T>
void put(char* place, double value) {
  const T number = static_cast<T>(value);
  std::memcpy(place, &number, sizeof number);
}

template <class T>
double get(const char* place) {
  T number;
  std::memcpy(&number, place, sizeof number);
  return static_cast<double>(number);
}

template <class T>
Kind plain(const char* name, MPI_Datatype type, MPI_Op op, bool exact) {
  Kind kind{name, type, op, true, exact, {}, 0, draw_small, {}, {}, {}};
  kind.bytes = [](Count count) { return static_cast<std::size_t>(count) * sizeof(T); };
  kind.write = [](char* origin, Count i, const Value& value) {
    put<T>(origin + i * static_cast<Count>(sizeof(T)), value[0]);
  };
  kind.read = [](const char* origin, Count i) {
    return Value{get<T>(origin + i * static_cast<Count>(sizeof(T))), 0};
  };
  return kind;
}

Value sum_both(const Value& a, const Value& b) { return {a[0] + b[0], a[1] + b[1]}; }

Value draw_two(Random& random) { return {draw_small(random)[0], draw_small(random)[0]}; }

// Two 32-bit integers at bytes -8 and 8 of an element, the next element 40 bytes further.
constexpr Count kFirst = -8;
constexpr Count kSecond = 8;
constexpr Count kExtent = 40;

template <Count first, Count second, Count extent>
void write_two(char* origin, Count i, const Value& value) {
  put<std::int32_t>(origin + i * extent + first, value[0]);
  put<std::int32_t>(origin + i * extent + second, value[1]);
}

template <Count first, Count second, Count extent>
Value read_two(const char* origin, Count i) {
  return {get<std::int32_t>(origin + i * extent + first),
          get<std::int32_t>(origin + i * extent + second)};
}

template <Count first, Count second, Count extent>
void add_two(void* in, void* inout, int* length, MPI_Datatype*) {
  const char* const left = static_cast<char*>(in);
  char* const right = static_cast<char*>(inout);
  for (Count i = 0; i < *length; ++i) {
    const Value sum = sum_both(read_two<first, second, extent>(left, i),
                               read_two<first, second, extent>(right, i));
    write_two<first, second, extent>(right, i, sum);
  }
}

// The first numbers of all elements, then the second ones: elements interleave.
constexpr Count kColumnBytes = 4 * kColumn;

// x -> a x + b modulo a prime; the left map is applied first.
constexpr std::int64_t kPrime = 1009;

Value compose(const Value& left, const Value& right) {
  const auto modulo = [](double number) {
    return static_cast<double>(static_cast<std::int64_t>(number) % kPrime);
  };
  return {modulo(left[0] * right[0]), modulo(right[0] * left[1] + right[1])};
}

void compose_all(void* in, void* inout, int* length, MPI_Datatype*) {
  const char* const left = static_cast<char*>(in);
  char* const right = static_cast<char*>(inout);
  for (Count i = 0; i < *length; ++i) {
    write_two<0, 4, 8>(right, i, compose(read_two<0, 4, 8>(left, i), read_two<0, 4, 8>(right, i)));
  }
}

MPI_Datatype two_integers(Count first, Count second, Count extent) {
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {first, second};
  const MPI_Datatype types[] = {MPI_INT32_T, MPI_INT32_T};
  MPI_Datatype raw = MPI_DATATYPE_NULL;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(2, lengths, places, types, &raw);
  MPI_Type_create_resized(raw, first, extent, &made);
  MPI_Type_free(&raw);
  MPI_Type_commit(&made);
  return made;
}

MPI_Op make_op(MPI_User_function* function, bool commutative) {
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(function, commutative ? 1 : 0, &op);
  return op;
}

}  // namespace

MPI_Datatype Kinds::own_type(MPI_Datatype type) {
  types_.push_back(type);
  return type;
}

MPI_Op Kinds::own_op(MPI_Op op) {
  ops_.push_back(op);
  return op;
}

Kind Kinds::with_holes() {
  Kind kind{"holes",
            own_type(two_integers(kFirst, kSecond, kExtent)),
            own_op(make_op(add_two<kFirst, kSecond, kExtent>, true)),
            true,
            true,
            {},
            16,
            draw_two,
            sum_both,
            write_two<kFirst, kSecond, kExtent>,
            read_two<kFirst, kSecond, kExtent>};
  kind.bytes = [](Count count) { return static_cast<std::size_t>(16 + count * kExtent); };
  return kind;
}

Kind Kinds::interleaved() {
  Kind kind{"interleaved",
            own_type(two_integers(0, kColumnBytes, 4)),
            own_op(make_op(add_two<0, kColumnBytes, 4>, true)),
            true,
            true,
            {},
            0,
            draw_two,
            sum_both,
            write_two<0, kColumnBytes, 4>,
            read_two<0, kColumnBytes, 4>};
  kind.bytes = [](Count) { return static_cast<std::size_t>(2 * kColumnBytes); };
  return kind;
}

Kind Kinds::affine() {
  Kind kind{"affine",
            own_type(two_integers(0, 4, 8)),
            own_op(make_op(compose_all, false)),
            false,
            true,
            {},
            0,
            {},
            compose,
            write_two<0, 4, 8>,
            read_two<0, 4, 8>};
  kind.bytes = [](Count count) { return static_cast<std::size_t>(count * 8); };
  kind.draw = [](Random& random) {
    return Value{static_cast<double>(1 + random.below(kPrime - 1)),
                 static_cast<double>(random.below(kPrime))};
  };
  return kind;
}

Kinds::Kinds() {
  const auto sum = [](const Value& a, const Value& b) { return Value{a[0] + b[0], 0}; };
  all_.push_back(plain<std::int32_t>("int sum", MPI_INT32_T, MPI_SUM, true));
  all_.back().combine = sum;
  all_.push_back(plain<float>("float sum", MPI_FLOAT, MPI_SUM, false));
  all_.back().combine = sum;
  all_.back().draw = [](Random& random) { return Value{random.uniform() * 2 - 1, 0}; };
  all_.push_back(plain<std::int64_t>("int64 max", MPI_INT64_T, MPI_MAX, true));
  all_.back().combine = [](const Value& a, const Value& b) {
    return Value{std::max(a[0], b[0]), 0};
  };
  all_.push_back(with_holes());
  all_.push_back(interleaved());
  all_.push_back(affine());
}

Kinds::~Kinds() {
  for (MPI_Datatype& type : types_) MPI_Type_free(&type);
  for (MPI_Op& op : ops_) MPI_Op_free(&op);
}

const Kind& Kinds::named(const std::string& name) const {
  for (const Kind& kind : all_) {
    if (kind.name == name) return kind;
  }
  throw std::out_of_range(name);
}

}  // namespace latecomer::testing
