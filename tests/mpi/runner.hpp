// A small runner for tests on several ranks: every rank runs every case in the same order; a case
// fails if a check fails on any rank, and rank 0 prints a line for each case.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>

#include "transports/mpi/mpi.hpp"

namespace latecomer::testing {

struct Context {
  int rank;
  int ranks;
  std::uint64_t seed;  // of this case, the same on all ranks
  bool quick;          // a reduced set is wanted
  std::uint64_t turn;  // which part of it
  /// Returns true if this case of a sweep is to run: in a reduced set every third one, in no order.
  /// The others have their turns on other numbers of ranks.
  [[nodiscard]] bool takes(std::uint64_t drawn) const;
};

using Test = void (*)(const Context&);

/// Registers a case before main.
struct Case {
  Case(const char* name, Test test);
};

/// A long case still moves: its deadline begins anew.
void note_progress();

/// Notes a failed check of this rank.
void note_failure(const char* file, int line, const std::string& text);

int run_all(int argc, char** argv);

/// The class of an MPI error code.
inline int class_of(int code) {
  int category = MPI_SUCCESS;
  MPI_Error_class(code, &category);
  return category;
}

template <class A, class B>
std::string both(const A& a, const B& b) {
  std::ostringstream text;
  text << "is '" << a << "', expected '" << b << "'";
  return text.str();
}

}  // namespace latecomer::testing

#define MPI_TEST(name)                                            \
  static void name(const latecomer::testing::Context& context);   \
  static const latecomer::testing::Case case_##name(#name, name); \
  static void name([[maybe_unused]] const latecomer::testing::Context& context)

#define CHECK_TEXT(condition, text)                                                 \
  do {                                                                              \
    if (!(condition)) latecomer::testing::note_failure(__FILE__, __LINE__, (text)); \
  } while (false)

#define CHECK(condition) CHECK_TEXT(condition, #condition)

#define CHECK_EQ(actual, expected)                                              \
  do {                                                                          \
    const auto is = (actual);                                                   \
    const auto right = (expected);                                              \
    CHECK_TEXT(is == right, #actual " " + latecomer::testing::both(is, right)); \
  } while (false)
