// Scratch memory that all communicators share.
#include "transports/mpi/scratch.hpp"

#include "allocations.hpp"
#include "runner.hpp"

namespace latecomer::testing {
namespace {

constexpr std::size_t kLong = 4 * Scratch::kKept;

/// One call that needs so many bytes. Returns where.
void* call(std::size_t bytes) {
  Scratch scratch;
  return scratch.reserve(Layout(MPI_BYTE), 1, static_cast<Count>(bytes));
}

/// Many short ones: whatever cases before this one needed is forgotten.
void forget() {
  for (std::size_t i = 0; i < Scratch::kRecentCalls; ++i) (void)call(1000);
}

MPI_TEST(calls_one_after_another_use_the_same_scratch) {
  forget();
  void* const place = call(1000);
  CHECK_EQ(call(1000), place);
  CHECK_EQ(call(100), place);
  CHECK_EQ(fewest_allocations(3, [] { (void)call(1000); }), 0U);
  Scratch one;
  Scratch other;
  const Layout bytes(MPI_BYTE);
  CHECK(one.reserve(bytes, 1, 1000) != other.reserve(bytes, 1, 1000));
  CHECK(one.reserve(bytes, 1, 0) == nullptr);
}

MPI_TEST(scratch_of_one_long_call_is_freed) {
  forget();
  (void)call(kLong);
  CHECK(Scratch::unused() <= Scratch::kKept);
}

MPI_TEST(scratch_of_long_calls_is_kept_while_they_come) {
  forget();
  (void)call(kLong);
  (void)call(kLong);
  CHECK(Scratch::unused() >= kLong);
  (void)call(1000);
  CHECK_EQ(fewest_allocations(1, [] { (void)call(kLong); }), 0U);
  for (std::size_t i = 0; i < Scratch::kRecentCalls; ++i) (void)call(0);  // needs none
  CHECK(Scratch::unused() <= Scratch::kKept);
}

MPI_TEST(scratch_in_use_by_mpi_is_never_used_again) {
  forget();
  Scratch scratch;
  void* const place = scratch.reserve(Layout(MPI_BYTE), 1, 5000);
  scratch.abandon();
  CHECK_EQ(scratch.capacity(), 0U);
  CHECK(call(5000) != place);
}

}  // namespace
}  // namespace latecomer::testing
