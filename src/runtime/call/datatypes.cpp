#include "runtime/call/datatypes.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "transports/mpi/layout.hpp"
#include "transports/mpi/user_code.hpp"

namespace latecomer {
namespace {

struct BuiltIn {
  MPI_Op op;
  OperatorSet set;
};

/// The index in this list is the operator's number.
const std::array<BuiltIn, 12>& operators() {
  static const std::array<BuiltIn, 12> all = {{{MPI_SUM, kArithmetic},
                                               {MPI_PROD, kArithmetic},
                                               {MPI_MAX, kExtrema},
                                               {MPI_MIN, kExtrema},
                                               {MPI_LAND, kLogical},
                                               {MPI_LOR, kLogical},
                                               {MPI_LXOR, kLogical},
                                               {MPI_BAND, kBitwise},
                                               {MPI_BOR, kBitwise},
                                               {MPI_BXOR, kBitwise},
                                               {MPI_MAXLOC, kLocation},
                                               {MPI_MINLOC, kLocation}}};
  return all;
}

OperatorSet set_of(MPI_Op op) {
  for (const BuiltIn& each : operators()) {
    if (each.op == op) return each.set;
  }
  return kNoOperators;
}

}  // namespace

OperatorKind kind_of(MPI_Op op) {
  return set_of(op) == kNoOperators ? OperatorKind::user : OperatorKind::built_in;
}

bool defined_on(MPI_Op op, MPI_Datatype type) {
  const OperatorSet set = set_of(op);
  if (set == kNoOperators) return false;
  const Predefined* const known = meaning_of(type);
  return known != nullptr && (known->operators & set) != 0;
}

bool exact(MPI_Op op) { return set_of(op) == kBitwise; }

MPI_Datatype combined_as(MPI_Op op, MPI_Datatype type) {
  const OperatorSet set = set_of(op);
  const Predefined* const known = set == kNoOperators ? nullptr : meaning_of(type);
  if (known == nullptr) return type;
  const MPI_Datatype standing = datatype_numbered(known->number);
  const bool alike = known->ordered && predefined(standing)->ordered;
  return set == kExtrema && !alike ? type : standing;
}

std::optional<std::uint16_t> number_of(MPI_Op op) {
  for (std::size_t i = 0; i < operators().size(); ++i) {
    if (operators()[i].op == op) return static_cast<std::uint16_t>(i);
  }
  return std::nullopt;
}

MPI_Op operator_numbered(std::uint16_t number) {
  if (number < operators().size()) return operators()[number].op;
  throw Error("number of an operator", std::to_string(number),
              "one below " + std::to_string(operators().size()));
}

namespace {

// Beyond the standard, Open MPI computes on characters and bytes as on integers, and on Fortran's
// types of other sizes than the default one as on C's integers.
#ifdef OPEN_MPI
constexpr bool kOpenMpi = true;
#else
constexpr bool kOpenMpi = false;
#endif

constexpr Count kFortranDefault = 4;  // bytes of INTEGER and LOGICAL

constexpr std::uint8_t on_fortran(Count size, std::uint8_t standard) {
  return kOpenMpi && size != kFortranDefault ? std::uint8_t{kOnIntegers} : standard;
}
constexpr std::uint8_t on_fortran_integers(Count size) {
  return on_fortran(size, kArithmetic | kExtrema | kBitwise);
}
constexpr std::uint8_t on_fortran_truth(Count size) { return on_fortran(size, kLogical); }

constexpr std::uint8_t kOnReals = kArithmetic | kExtrema;
constexpr std::uint8_t kOnBytes = kOpenMpi ? kOnIntegers : kBitwise;
constexpr std::uint8_t kOnFortranCharacters = kOpenMpi ? kOnIntegers : kNoOperators;

constexpr int kLongDoubleDigits = std::numeric_limits<long double>::digits;
constexpr bool kIeeeLongDouble = kLongDoubleDigits == 53 || kLongDoubleDigits == 113;
constexpr Content kLongDouble = kIeeeLongDouble ? Content::real : Content::extended;
constexpr Content kLongDoubleComplex =
    kIeeeLongDouble ? Content::complex : Content::extended_complex;

struct Row {
  MPI_Datatype type;
  Content content;
  std::uint8_t operators;
};

/// The place in here is a datatype's number, unless an earlier one means the same: that one stands
/// for all of them in announced calls. Libraries differ in which of Fortran's types they have. MPI
/// 5's ABI has a number for each, and Intel MPI ends a program that asks for one that it lacks.
std::span<const Row> rows() {  // NOLINT(readability-function-size): a table
  using enum Content;
  static const Row all[] = {
      {MPI_INT8_T, signed_integer, kOnIntegers},
      {MPI_INT16_T, signed_integer, kOnIntegers},
      {MPI_INT32_T, signed_integer, kOnIntegers},
      {MPI_INT64_T, signed_integer, kOnIntegers},
      {MPI_SIGNED_CHAR, signed_integer, kOnIntegers},
      {MPI_SHORT, signed_integer, kOnIntegers},
      {MPI_INT, signed_integer, kOnIntegers},
      {MPI_LONG, signed_integer, kOnIntegers},
      {MPI_LONG_LONG, signed_integer, kOnIntegers},
      {MPI_AINT, signed_integer, kOnIntegers},
      {MPI_OFFSET, signed_integer, kOnIntegers},
      {MPI_COUNT, signed_integer, kOnIntegers},
      {MPI_INTEGER, signed_integer, on_fortran_integers(kFortranDefault)},
#ifdef MPI_INTEGER1
      {MPI_INTEGER1, signed_integer, on_fortran_integers(1)},
#endif
#ifdef MPI_INTEGER2
      {MPI_INTEGER2, signed_integer, on_fortran_integers(2)},
#endif
#ifdef MPI_INTEGER4
      {MPI_INTEGER4, signed_integer, on_fortran_integers(4)},
#endif
#ifdef MPI_INTEGER8
      {MPI_INTEGER8, signed_integer, on_fortran_integers(8)},
#endif
#if defined MPI_INTEGER16 && !defined MPI_ABI
      {MPI_INTEGER16, signed_integer, on_fortran_integers(16)},
#endif
      {MPI_UINT8_T, unsigned_integer, kOnIntegers},
      {MPI_UINT16_T, unsigned_integer, kOnIntegers},
      {MPI_UINT32_T, unsigned_integer, kOnIntegers},
      {MPI_UINT64_T, unsigned_integer, kOnIntegers},
      {MPI_UNSIGNED_CHAR, unsigned_integer, kOnIntegers},
      {MPI_UNSIGNED_SHORT, unsigned_integer, kOnIntegers},
      {MPI_UNSIGNED, unsigned_integer, kOnIntegers},
      {MPI_UNSIGNED_LONG, unsigned_integer, kOnIntegers},
      {MPI_UNSIGNED_LONG_LONG, unsigned_integer, kOnIntegers},
      {MPI_FLOAT, real, kOnReals},
      {MPI_DOUBLE, real, kOnReals},
      {MPI_LONG_DOUBLE, kLongDouble, kOnReals},
      {MPI_REAL, real, kOnReals},
      {MPI_DOUBLE_PRECISION, real, kOnReals},
#ifdef MPIX_C_FLOAT16
      {MPIX_C_FLOAT16, real, kOnReals},
#endif
#if defined MPI_REAL2 && !defined MPI_ABI
      {MPI_REAL2, real, kOnReals},
#endif
#ifdef MPI_REAL4
      {MPI_REAL4, real, kOnReals},
#endif
#ifdef MPI_REAL8
      {MPI_REAL8, real, kOnReals},
#endif
#ifdef MPI_REAL16
      {MPI_REAL16, real, kOnReals},
#endif
      {MPI_C_FLOAT_COMPLEX, complex, kArithmetic},
      {MPI_C_DOUBLE_COMPLEX, complex, kArithmetic},
      {MPI_C_LONG_DOUBLE_COMPLEX, kLongDoubleComplex, kArithmetic},
#ifdef MPI_CXX_FLOAT_COMPLEX
      {MPI_CXX_FLOAT_COMPLEX, complex, kArithmetic},
      {MPI_CXX_DOUBLE_COMPLEX, complex, kArithmetic},
      {MPI_CXX_LONG_DOUBLE_COMPLEX, kLongDoubleComplex, kArithmetic},
#endif
      {MPI_COMPLEX, complex, kArithmetic},
      {MPI_DOUBLE_COMPLEX, complex, kArithmetic},
#if defined MPI_COMPLEX4 && !defined MPI_ABI
      {MPI_COMPLEX4, complex, kArithmetic},
#endif
#ifdef MPI_COMPLEX8
      {MPI_COMPLEX8, complex, kArithmetic},
#endif
#ifdef MPI_COMPLEX16
      {MPI_COMPLEX16, complex, kArithmetic},
#endif
#ifdef MPI_COMPLEX32
      {MPI_COMPLEX32, complex, kArithmetic},
#endif
      {MPI_C_BOOL, truth, kLogical},
#ifdef MPI_CXX_BOOL
      {MPI_CXX_BOOL, truth, kLogical},
#endif
      {MPI_LOGICAL, fortran_truth, on_fortran_truth(kFortranDefault)},
#ifdef MPI_LOGICAL1
      {MPI_LOGICAL1, fortran_truth, on_fortran_truth(1)},
#endif
#ifdef MPI_LOGICAL2
      {MPI_LOGICAL2, fortran_truth, on_fortran_truth(2)},
#endif
#ifdef MPI_LOGICAL4
      {MPI_LOGICAL4, fortran_truth, on_fortran_truth(4)},
#endif
#ifdef MPI_LOGICAL8
      {MPI_LOGICAL8, fortran_truth, on_fortran_truth(8)},
#endif
#if defined MPI_LOGICAL16 && !defined MPI_ABI
      {MPI_LOGICAL16, fortran_truth, on_fortran_truth(16)},
#endif
      {MPI_BYTE, byte, kOnBytes},
      {MPI_CHAR, character, kOnIntegers},
      {MPI_CHARACTER, opaque, kOnFortranCharacters},
      {MPI_WCHAR, opaque, kNoOperators},
      {MPI_PACKED, opaque, kNoOperators},
      {MPI_FLOAT_INT, real_and_int, kLocation},
      {MPI_DOUBLE_INT, real_and_int, kLocation},
      {MPI_LONG_DOUBLE_INT, real_and_int, kLocation},
      {MPI_2INT, integer_and_int, kLocation},
      {MPI_SHORT_INT, integer_and_int, kLocation},
      {MPI_LONG_INT, integer_and_int, kLocation},
      {MPI_2INTEGER, integer_and_int, kLocation},
      {MPI_2REAL, real_and_real, kLocation},
      {MPI_2DOUBLE_PRECISION, real_and_real, kLocation},
  };
  return all;
}

bool alike(const Predefined& a, const Predefined& b) {
  return a.content == b.content && a.size == b.size && a.content != Content::opaque;
}

Count asked_size(MPI_Datatype type) {
  MPI_Count bytes = 0;
  PMPI_Type_size_x(type, &bytes);
  return bytes;
}

/// Open MPI 4.1 compares MPI_UNSIGNED_LONG as signed numbers, and MPI_OFFSET as unsigned ones.
/// MPICH 4.0 and Intel MPI have MPI_INTEGER16, but no operators for it; MPICH is not asked, since
/// it might end the program.
void try_maximum(Predefined& type, bool in_mpich) {
  const bool integer =
      type.content == Content::signed_integer || type.content == Content::unsigned_integer;
  if (!integer || (type.operators & kExtrema) == 0 || type.size > 16) return;
  if (in_mpich) {
    if (type.size == 16) type.operators = kNoOperators;
    return;
  }
  alignas(16) std::array<unsigned char, 16> max{};  // or -1
  max.fill(0xff);
  alignas(16) std::array<unsigned char, 16> larger{};  // than -1
  if (PMPI_Reduce_local(max.data(), larger.data(), 1, type.type, MPI_MAX) != MPI_SUCCESS) {
    type.operators = kNoOperators;
    return;
  }
  const bool as_unsigned = larger[0] == 0xff;
  type.ordered = as_unsigned == (type.content == Content::unsigned_integer);
}

/// MPICH refuses none of its types, as its relatives may. It must not get an error handler
/// (runtime/connection/internal_comm.cpp).
bool is_mpich() {
  std::vector<char> text(MPI_MAX_LIBRARY_VERSION_STRING + 1);
  int length = 0;
  PMPI_Get_library_version(text.data(), &length);
  return std::string_view(text.data()).starts_with("MPICH Version");
}

/// The datatypes in the order of rows(). A library may lack types that its header names, or the
/// header of its kin: they are null, have no size, or are refused.
std::vector<Predefined> numbered() {
  std::optional<ReturnedErrorsEverywhere> refusals_are_answers;
  const bool in_mpich = is_mpich();
  if (!in_mpich) refusals_are_answers.emplace();
  std::vector<Predefined> all;
  std::uint16_t number = 0;
  for (const Row& row : rows()) {
    Predefined made{row.type, row.content, row.operators, number++};
    if (row.type == MPI_DATATYPE_NULL) continue;
    made.size = asked_size(row.type);
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const Predefined& other) { return alike(other, made); });
    if (same != all.end()) made.number = same->number;
    if (made.size == 0) continue;
    try_maximum(made, in_mpich);
    all.push_back(made);
  }
  return all;
}

bool before(const Predefined& entry, MPI_Datatype type) {
  return std::less<MPI_Datatype>{}(entry.type, type);
}

const std::vector<Predefined>& by_handle() {
  static const auto& all = *new auto([] {  // calls may come after static objects
    std::vector<Predefined> sorted = all_predefined();
    std::sort(sorted.begin(), sorted.end(),
              [](const Predefined& a, const Predefined& b) { return before(a, b.type); });
    return sorted;
  }());
  return all;
}

Content content_of(int combiner) {
  switch (combiner) {
    case MPI_COMBINER_F90_INTEGER:
      return Content::signed_integer;
    case MPI_COMBINER_F90_REAL:
      return Content::real;
    case MPI_COMBINER_F90_COMPLEX:
      return Content::complex;
    default:
      return Content::opaque;
  }
}

}  // namespace

const std::vector<Predefined>& all_predefined() {
  static const auto& all = *new std::vector<Predefined>(numbered());  // likewise
  return all;
}

const Predefined* predefined(MPI_Datatype type) {
  const std::vector<Predefined>& all = by_handle();
  const auto found = std::lower_bound(all.begin(), all.end(), type, before);
  return found != all.end() && found->type == type ? &*found : nullptr;
}

const Predefined* meaning_of(MPI_Datatype type) {
  if (const Predefined* const named = predefined(type)) return named;
  Predefined made;
  made.content = content_of(combiner_of(type));
  if (made.content == Content::opaque) return nullptr;
  made.size = asked_size(type);
  const std::vector<Predefined>& all = by_handle();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Predefined& other) { return alike(other, made); });
  return found == all.end() ? nullptr : &*found;
}

MPI_Datatype datatype_numbered(std::uint16_t number) {
  if (number < rows().size() && rows()[number].type != MPI_DATATYPE_NULL)
    return rows()[number].type;
  throw Error("number of a datatype", std::to_string(number),
              "one below " + std::to_string(rows().size()));
}

Count size_of(MPI_Datatype type) {
  const Predefined* const named = predefined(type);
  return named != nullptr ? named->size : asked_size(type);
}

}  // namespace latecomer
