// What is the program's stays so: its files, signals, floating-point state, and threads' objects.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cfenv>
#include <csignal>
#include <cstdio>
#include <thread>

#include "base/arithmetic.hpp"
#include "base/files.hpp"
#include "base/threads.hpp"

namespace latecomer {
namespace {

int temporary_file() {
  char name[] = "/tmp/latecomer-belongings-XXXXXX";
  const int file = mkostemp(name, O_CLOEXEC);
  unlink(name);
  return file;
}

TEST(OwnDescriptor, IsNotUsedOnceItsNumberIsAnotherFiles) {
  const int number = temporary_file();
  const int other = temporary_file();
  {
    const OwnDescriptor own(number);
    EXPECT_EQ(own.get(), number);
    dup2(other, number);
    EXPECT_LT(own.get(), 0);
  }
  EXPECT_GE(fcntl(number, F_GETFD), 0);  // it was not closed
  close(number);
  close(other);
}

TEST(OwnDescriptor, IsClosedAtItsEnd) {
  const int number = temporary_file();
  {
    const OwnDescriptor own(number);
  }
  EXPECT_LT(fcntl(number, F_GETFD), 0);
}

TEST(Writing, ToAPipeThatNobodyReadsRaisesNoSignal) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  EXPECT_EQ(write_all(ends[1], "text"), EPIPE);
  close(ends[1]);
}

TEST(Writing, BeyondTheLimitOfFilesRaisesNoSignal) {
  const int file = temporary_file();
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit limit = before;
  limit.rlim_cur = 2;
  setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_EQ(write_all(file, "text"), EFBIG);
  setrlimit(RLIMIT_FSIZE, &before);
  close(file);
}

TEST(Writing, LeavesASignalThatIsTheProgramsOwn) {
  sigset_t one;
  sigset_t pending;
  sigemptyset(&one);
  sigaddset(&one, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &one, nullptr);
  raise(SIGPIPE);
  {
    const NoWriteSignals none;
  }
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 1);
  int taken = 0;
  sigwait(&one, &taken);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

TEST(OwnArithmetic, RoundsToTheNearestAndLeavesTheProgramsState) {
  std::fesetround(FE_UPWARD);
  std::feclearexcept(FE_ALL_EXCEPT);
  {
    const OwnArithmetic own;
    // On some machines fegetround looks at a register that is not used here.
    volatile double large = 0x1p53;
    volatile const double sum = large + 1;  // half way between two numbers
    EXPECT_EQ(sum, 0x1p53);
    volatile double one = 1;
    volatile const double third = one / 3;
    (void)third;
    const OwnArithmetic::Programs programs;
  }
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  EXPECT_EQ(std::fetestexcept(FE_INEXACT), 0);
  std::fesetround(FE_TONEAREST);
}

TEST(OwnArithmetic, KeepsWhatTheProgramsOperatorsRaise) {
  std::feclearexcept(FE_ALL_EXCEPT);
  {
    const OwnArithmetic own;
    const OwnArithmetic::Programs programs;
    std::feraiseexcept(FE_DIVBYZERO);
  }
  EXPECT_NE(std::fetestexcept(FE_DIVBYZERO), 0);
  std::feclearexcept(FE_ALL_EXCEPT);
}

struct Counted {
  Counted() { ++living; }
  ~Counted() { --living; }
  static inline int living = 0;
};

TEST(PerThread, ObjectsOfThreadsEndWithThem) {
  using Each = PerThread<class Test, Counted>;
  (void)Each::get();
  EXPECT_EQ(Counted::living, 1);
  std::thread([] {
    (void)Each::get();
    EXPECT_EQ(Counted::living, 2);
  }).join();
  EXPECT_EQ(Counted::living, 1);
}

}  // namespace
}  // namespace latecomer
