// Ranks that wait asleep: nobody waits for what they must do meanwhile, and the time is counted.
#include "runtime/connection/sleeping.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <vector>

#include "communicator.hpp"
#include "scratch_name.hpp"
#include "thread_helpers.hpp"
#include "variable.hpp"

namespace latecomer::testing {
namespace {

/// A word that the ranks of this machine share.
class SharedWord {
 public:
  explicit SharedWord(const Context& context) {
    char name[64] = "";
    std::strncpy(name, scratch_name("sleeping").c_str(), sizeof name - 1);
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (context.rank == 0) open(name, true);
    MPI_Barrier(MPI_COMM_WORLD);
    if (context.rank != 0) open(name, false);
    MPI_Barrier(MPI_COMM_WORLD);
    if (context.rank == 0) ::unlink(name);
  }
  ~SharedWord() { ::munmap(at_, sizeof(std::atomic<int>)); }
  SharedWord(const SharedWord&) = delete;
  SharedWord& operator=(const SharedWord&) = delete;
  [[nodiscard]] std::atomic<int>& operator*() const { return *static_cast<std::atomic<int>*>(at_); }

 private:
  void open(const char* name, bool make) {
    const int file = ::open(name, O_RDWR | (make ? O_CREAT | O_EXCL : 0), 0600);
    if (make) CHECK_EQ(::ftruncate(file, sizeof(std::atomic<int>)), 0);
    at_ = ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    CHECK(at_ != MAP_FAILED);
  }

  void* at_ = nullptr;
};

std::atomic<int>* asleep = nullptr;  // set once rank 0 has slept
Seconds slept_before = 0;

void tell_of_sleep(int) {
  if (slept() > slept_before) asleep->store(1);
}

/// Signals interrupt rank 0 all the time, and tell the late rank that it has slept.
class Storm {
 public:
  Storm(const Context& context, std::atomic<int>& word) : storms_(context.rank == 0) {
    if (!storms_) return;
    asleep = &word;
    slept_before = slept();
    struct sigaction action{};
    action.sa_handler = tell_of_sleep;
    sigaction(SIGALRM, &action, &earlier_);
    const itimerval often{{0, 300}, {0, 300}};
    setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~Storm() {
    if (!storms_) return;
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &earlier_, nullptr);
  }
  Storm(const Storm&) = delete;
  Storm& operator=(const Storm&) = delete;

 private:
  bool storms_;
  struct sigaction earlier_{};
};

/// Ranks in the opposite order: no communicator before has left its resources to this one.
MPI_Comm turned(const Context& context) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -context.rank, &comm);
  return comm;
}

/// The last rank enters a call when rank 0 has slept in it, and has served a long message and an
/// access to its memory, both of which need it.
void be_late(const Context& context, const char* algorithm, const std::string& nodes) {
  if (context.ranks == 1) return;
  const Variable wait("LATECOMER_WAIT", "sleep");
  const Variable per_node("LATECOMER_NODES", nodes);
  MPI_Comm comm = turned(context);
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", algorithm), MPI_SUCCESS);
  const int late = context.ranks - 1;
  const std::size_t count = 1000;
  std::vector<int> mine(count), sum(count), expected(count);
  std::iota(mine.begin(), mine.end(), context.rank);
  for (std::size_t i = 0; i < count; ++i) {
    expected[i] = context.ranks * static_cast<int>(i) + context.ranks * (context.ranks - 1) / 2;
  }
  const auto reduce = [&] {
    CHECK_EQ(latecomer_allreduce(mine.data(), sum.data(), static_cast<int>(count), MPI_INT, MPI_SUM,
                                 comm),
             MPI_SUCCESS);
    CHECK(sum == expected);
  };
  reduce();  // makes what a call needs

  std::vector<char> message(std::size_t{4} << 20, 'm');
  int window_word = 0;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(&window_word, sizeof window_word, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  const SharedWord word(context);
  MPI_Request request = MPI_REQUEST_NULL;
  {
    const Storm storm(context, *word);
    if (context.rank == 0) {
      MPI_Isend(message.data(), static_cast<int>(message.size()), MPI_CHAR, late, 0, MPI_COMM_WORLD,
                &request);
    }
    if (context.rank == late) {
      while (*word == 0) sleep_for(1e-4);
      MPI_Recv(message.data(), static_cast<int>(message.size()), MPI_CHAR, 0, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      const int one = 1;
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
      MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
      MPI_Win_unlock(0, window);
    }
    reduce();
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_free(&window);
  if (context.rank == 0) {
    CHECK_EQ(window_word, 1);
    CHECK(slept() > slept_before);
  }
  reduce();
  MPI_Comm_free(&comm);
}

MPI_TEST(a_rank_asleep_serves_others_and_is_counted) {
  for (const char* const algorithm : {"ring", "online_owners"}) be_late(context, algorithm, "off");
}

/// It waits for flags, which wake it.
MPI_TEST(a_rank_asleep_on_a_node_serves_others_and_is_counted) {
  be_late(context, "nodes", std::to_string(context.ranks));
}

MPI_TEST(a_request_is_waited_for_asleep) {
  if (context.ranks == 1) return;
  const SharedWord word(context);
  const Storm storm(context, *word);
  while (context.rank == context.ranks - 1 && *word == 0) sleep_for(1e-4);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  CHECK_EQ(wait_asleep(request, MPI_COMM_WORLD), MPI_SUCCESS);
  CHECK(request == MPI_REQUEST_NULL);
  CHECK_EQ(static_cast<int>(*word), 1);
}

MPI_TEST(a_rank_that_must_poll_is_not_asleep) {
  const Variable wait("LATECOMER_WAIT", "poll");
  CHECK(sleeping_of_rank(true) == Sleeping::never);
  CHECK(sleeping_of_rank(false) == Sleeping::never);
}

MPI_TEST(ranks_sleep_where_they_share_cores_unless_asked) {
  CHECK(sleeping_of_rank(true) == Sleeping::on_shared_core);
  CHECK(sleeping_of_rank(false) == Sleeping::on_slow_polls);
  const Variable wait("LATECOMER_WAIT", "sleep");
  CHECK(sleeping_of_rank(false) == Sleeping::asked);
}

}  // namespace
}  // namespace latecomer::testing
