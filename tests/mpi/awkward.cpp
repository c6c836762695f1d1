#include "awkward.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "runtime/call/datatypes.hpp"

namespace latecomer::testing {
namespace {

constexpr std::size_t kX87Bytes = 10;  // of a long double that take part in arithmetic, on x86

struct Operator {
  const char* name;
  MPI_Op op;
};

const std::array<Operator, 12>& built_in() {
  static const std::array<Operator, 12> all = {{{"sum", MPI_SUM},
                                                {"product", MPI_PROD},
                                                {"max", MPI_MAX},
                                                {"min", MPI_MIN},
                                                {"logical and", MPI_LAND},
                                                {"logical or", MPI_LOR},
                                                {"logical xor", MPI_LXOR},
                                                {"bitwise and", MPI_BAND},
                                                {"bitwise or", MPI_BOR},
                                                {"bitwise xor", MPI_BXOR},
                                                {"maxloc", MPI_MAXLOC},
                                                {"minloc", MPI_MINLOC}}};
  return all;
}

std::string name_of(MPI_Datatype type) {
  std::array<char, MPI_MAX_OBJECT_NAME> name{};
  int length = 0;
  MPI_Type_get_name(type, name.data(), &length);
  return {name.data(), static_cast<std::size_t>(length)};
}

using Number = std::span<unsigned char>;

/// The two highest bytes, which hold the sign and the exponent of floating-point numbers.
void set_top(Number number, unsigned top) {
  if (number.size() > 1) number[number.size() - 2] = static_cast<unsigned char>(top & 0xffU);
  number.back() = static_cast<unsigned char>(top >> 8U);
}

/// The two highest bytes of an infinity, and of 1.
struct Format {
  unsigned infinity;
  unsigned one;
};

Format format_of(std::size_t bytes) {
  switch (bytes) {
    case 2:
      return {0x7c00, 0x3c00};
    case 4:
      return {0x7f80, 0x3f80};
    case 8:
      return {0x7ff0, 0x3ff0};
    default:
      return {0x7fff, 0x3fff};
  }
}

/// Gives the number another meaning than random bits.
void make_awkward(Number number, Random& random) {
  const unsigned sign = random.below(2) == 0 ? 0 : 0x8000;
  const unsigned char low = number.front();
  const auto [infinity, one] = format_of(number.size());
  const bool x87 = number.size() == kX87Bytes;
  const std::uint64_t meaning = random.below(6);
  std::fill(number.begin(), number.end(), meaning == 0 ? 0xff : 0);
  switch (meaning) {
    case 0:  // the largest whole number, or -1
      if (sign == 0) number.back() = 0x7f;
      break;
    case 1:  // the smallest whole number, or zero
      set_top(number, sign);
      break;
    case 2:
      set_top(number, sign | infinity);
      break;
    case 3:  // a NaN with a payload
      set_top(number, sign | infinity | (number.size() > 2 && number.size() < 8 ? 0x40U : 0x8U));
      number.front() = low;
      break;
    case 4:  // a small whole number, or a denormal
      number.front() = low % 5;
      if (number.size() > 1) number.back() = static_cast<unsigned char>(sign >> 8U);
      break;
    default:  // 1 and a little
      set_top(number, sign | one);
      number.front() = low;
  }
  if (x87 && meaning != 1 && meaning != 4) number[7] |= 0x80;
}

void draw_number(Number number, Random& random) {
  for (unsigned char& byte : number) byte = static_cast<unsigned char>(random.next() >> 16U);
  if (random.below(4) == 0) return;
  const bool x87 = number.size() == 16 && random.below(2) == 0;
  make_awkward(x87 ? number.first(kX87Bytes) : number, random);
}

/// The bytes of the first number of an element; the others are as long, or an int.
std::size_t first_number(const Predefined& type) {
  const auto size = static_cast<std::size_t>(type.size);
  switch (type.content) {
    case Content::complex:
    case Content::extended_complex:
    case Content::real_and_real:
      return size / 2;
    case Content::real_and_int:
    case Content::integer_and_int:
      return size - sizeof(int);
    default:
      return size;
  }
}

}  // namespace

void mix(void* in, void* inout, int* length, MPI_Datatype* /*type*/) {
  const auto* const left = static_cast<const std::uint64_t*>(in);
  auto* const right = static_cast<std::uint64_t*>(inout);
  for (int i = 0; i < *length; ++i) {
    right[i] = (left[i] * 0x9e3779b97f4a7c15ULL) ^ (right[i] * 0xc2b2ae3d27d4eb4fULL + 1);
  }
}

std::vector<Awkward> awkward_kinds(MPI_Op users) {
  std::vector<Awkward> all;
  for (const Predefined& known : all_predefined()) {
    for (const Operator& each : built_in()) {
      if (!defined_on(each.op, known.type)) continue;
      all.push_back({std::string(each.name) + " of " + name_of(known.type), known.type, each.op});
    }
  }
  all.push_back({"a user's operator", MPI_UINT64_T, users});
  return all;
}

Elements::Elements(const Awkward& kind, int count)
    : type_(kind.type), count_(count), size_(static_cast<std::size_t>(size_of(kind.type))) {
  MPI_Aint lower = 0;
  MPI_Type_get_extent(type_, &lower, &extent_);
  memory_.resize(static_cast<std::size_t>(extent_) * static_cast<std::size_t>(count) + 1);
}

/// MPI's packed form has the numbers of an element one after the other. Open MPI refuses to unpack
/// nothing.
void Elements::draw(Random& random) {
  if (count_ == 0) return;
  const Predefined& type = *predefined(type_);
  const std::size_t first = first_number(type);
  std::vector<unsigned char> packed(size_ * static_cast<std::size_t>(count_));
  for (std::size_t at = 0; at < packed.size(); at += size_) {
    const Number element = std::span(packed).subspan(at, size_);
    draw_number(element.first(first), random);
    if (first < size_) draw_number(element.subspan(first), random);
  }
  int position = 0;
  MPI_Unpack(packed.data(), static_cast<int>(packed.size()), &position, memory_.data(), count_,
             type_, MPI_COMM_WORLD);
}

std::vector<char> Elements::bytes() const {
  if (count_ == 0) return {};
  std::vector<char> packed(size_ * static_cast<std::size_t>(count_));
  int position = 0;
  MPI_Pack(memory_.data(), count_, type_, packed.data(), static_cast<int>(packed.size()), &position,
           MPI_COMM_WORLD);
  return packed;
}

}  // namespace latecomer::testing
