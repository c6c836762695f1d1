// The drop-in library is active from MPI_Init to MPI_Finalize, if all ranks have it and its
// settings are equal on all of them; at the end it sums the job up.
#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "base/arithmetic.hpp"
#include "base/json.hpp"
#include "base/threads.hpp"
#include "capi/mpi/guard.hpp"
#include "dropin/fast_path.hpp"
#include "dropin/handshake.hpp"
#include "dropin/job_settings.hpp"
#include "dropin/matching.hpp"
#include "dropin/messages.hpp"
#include "dropin/next.hpp"
#include "dropin/unseen.hpp"
#include "runtime/connection/clocks/clocks.hpp"
#include "runtime/connection/identity.hpp"
#include "runtime/connection/internal_comm.hpp"
#include "runtime/connection/introduction.hpp"
#include "runtime/connection/sleeping.hpp"
#include "runtime/progress/progress_thread.hpp"
#include "runtime/report/ledger.hpp"
#include "runtime/report/log.hpp"
#include "runtime/report/statistics.hpp"
#include "runtime/settings/defaults.hpp"
#include "runtime/settings/environment.hpp"
#include "runtime/trace/outside.hpp"
#include "runtime/trace/stamps.hpp"
#include "runtime/trace/tracer.hpp"
#include "transports/mpi/communicators.hpp"

namespace latecomer {
namespace {

/// The sums, or other reductions, of all ranks' numbers.
class Sums {
 public:
  explicit Sums(MPI_Comm comm) : comm_(comm) {}

  [[nodiscard]] double operator()(double mine, MPI_Op op = MPI_SUM) const {
    PMPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, op, comm_);
    return mine;
  }
  [[nodiscard]] std::uint64_t operator()(std::uint64_t mine, MPI_Op op = MPI_SUM) const {
    PMPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_UINT64_T, op, comm_);
    return mine;
  }
  [[nodiscard]] std::uint64_t operator()(Unhandled kind) const {
    return (*this)(unhandled_calls[static_cast<std::size_t>(kind)].load());
  }

 private:
  MPI_Comm comm_;
};

/// Those of all ranks, on rank 0.
template <class Each>
std::vector<Each> gathered(MPI_Comm comm, const Each& mine) {
  constexpr int kBytes = sizeof(Each);
  const bool gets = rank_in(comm) == 0;
  std::vector<Each> all(gets ? static_cast<std::size_t>(ranks_of(comm)) : 0);
  PMPI_Gather(&mine, kBytes, MPI_BYTE, all.data(), kBytes, MPI_BYTE, 0, comm);
  return all;
}

/// The hosts of all ranks, on rank 0.
std::vector<std::string> hosts_of(MPI_Comm comm) {
  std::array<char, 64> mine{};
  host_in_mpi().copy(mine.data(), mine.size() - 1);
  std::vector<std::string> hosts;
  for (const auto& each : gathered(comm, mine)) hosts.emplace_back(each.data());
  return hosts;
}

Seconds mean(const std::vector<Seconds>& of) {
  return std::accumulate(of.begin(), of.end(), Seconds{0}) / static_cast<double>(of.size());
}

/// Collective over `comm`, which has the ranks of MPI_COMM_WORLD; the summary is right on its rank
/// 0. `clock`: the common time at this rank's.
JobSummary summarise_job(MPI_Comm comm, const RankTotals& mine, Seconds elapsed,
                         const ClockModel& clock) {
  JobSummary job;
  job.ranks = ranks_of(comm);
  const Sums all(comm);
  job.elapsed = all(elapsed) / job.ranks;
  struct {
    double seconds;
    int rank;
  } last{elapsed, rank_in(comm)};
  PMPI_Allreduce(MPI_IN_PLACE, &last, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
  job.longest = last.seconds;
  job.last_to_end = last.rank;
  job.slept = all(slept()) / job.ranks;
  job.saved = all(mine.saved.saved) / job.ranks;
  job.saved_range = all(half_range(mine.saved)) / job.ranks;
  if (all(mine.saved.rough ? 1.0 : 0.0) > 0) job.saved_range = -1;
  for (const Counter& counter : counters()) {
    job.calls.*counter.member = all(mine.calls.*counter.member);
  }
  job.short_calls = all(short_vector_calls.load());
  job.nonblocking = all(Unhandled::nonblocking);
  job.persistent = all(Unhandled::persistent);
  job.neighbour = all(Unhandled::neighbour);
  job.estimated = all(mine.saved.calls);
  job.least_handled = all(mine.calls.handled, MPI_MIN);
  job.clock_error =
      all(std::max(clock.error, clock.error_at(monotonic_clock() - elapsed)), MPI_MAX);
  job.waits = match_calls(comm, clock, job.clock_error);
  const auto elsewhere = static_cast<Seconds>(unseen::total()) * 1e-9;
  job.elsewhere = all(elsewhere, MPI_MIN) < 0 ? -1 : all(elsewhere) / job.ranks;
  job.waiting = mean(job.waits.waiting);
  job.moving = mean(job.waits.moving);
  job.hosts = hosts_of(comm);
  job.outside = gathered(comm, outside::totals());
  return job;
}

}  // namespace

}  // namespace latecomer

#ifdef OMPI_MAJOR_VERSION
/// Open MPI 5's, in libmpi.so: the launcher was told --with-ft. Earlier ones have no such thing.
extern "C" __attribute__((weak)) bool ompi_ftmpi_enabled;
#endif

namespace latecomer {
namespace {

/// True if survivors may go on after the death of a rank, by MPI's extension for that (ULFM).
bool tolerates_failures() {
#ifdef OMPI_MAJOR_VERSION
  return &ompi_ftmpi_enabled != nullptr && ompi_ftmpi_enabled;
#else
  return false;
#endif
}

constexpr int kQuestions = 12;  // for the time
constexpr int kTag = 1;

void tell_time(MPI_Comm comm, Rank leader) {
  for (int i = 0; i < kQuestions; ++i) {
    PMPI_Recv(nullptr, 0, MPI_BYTE, leader, kTag, comm, MPI_STATUS_IGNORE);
    const Seconds now = monotonic_clock();
    PMPI_Send(&now, 1, MPI_DOUBLE, leader, kTag, comm);
  }
}

std::vector<ClockSample> ask_time(MPI_Comm comm) {
  std::vector<ClockSample> samples;
  for (int i = 0; i < kQuestions; ++i) {
    ClockSample sample{monotonic_clock(), 0, 0};
    PMPI_Send(nullptr, 0, MPI_BYTE, 0, kTag, comm);
    PMPI_Recv(&sample.peer, 1, MPI_DOUBLE, 0, kTag, comm, MPI_STATUS_IGNORE);
    sample.answered = monotonic_clock();
    samples.push_back(sample);
  }
  return samples;
}

/// The time that all ranks share where they read several clocks: rank 0's. The clocks are compared
/// when MPI begins and when it ends, and not in between, so that the program is left alone.
class CommonTime {
 public:
  /// Compares the clocks, and adds that to the trace, if there is one; collective over `comm`,
  /// which has the ranks of MPI_COMM_WORLD.
  void compare(MPI_Comm comm) {
    const Rank me = rank_in(comm);
    const std::uint64_t mine = introduction_of_place().clock;
    std::vector<std::uint64_t> clocks(static_cast<std::size_t>(ranks_of(comm)));
    PMPI_Allgather(&mine, 1, MPI_UINT64_T, clocks.data(), 1, MPI_UINT64_T, comm);
    const ClockGroups groups = group_clocks(clocks, me);
    if (groups.leaders.size() == 1) return;
    const Rank leader = groups.mates.front();
    learn(comm, groups, leader, me);
    (void)guarded(MPI_ERR_OTHER, [&] {
      if (leader != 0) trace::add_clock(MPI_COMM_WORLD, model_);
      return MPI_SUCCESS;
    });
  }
  /// From this rank's time to the common one.
  [[nodiscard]] const ClockModel& model() const { return model_; }

 private:
  void learn(MPI_Comm comm, const ClockGroups& groups, Rank leader, Rank me) {
    if (me == 0) {
      for (const Rank each : groups.leaders) {
        if (each != 0) tell_time(comm, each);
      }
    } else if (leader == me) {
      history_.add(fit(ask_time(comm), 0));
      model_ = history_.model();
    }
    constexpr int kBytes = sizeof model_;
    if (leader != me) {
      PMPI_Recv(&model_, kBytes, MPI_BYTE, leader, kTag, comm, MPI_STATUS_IGNORE);
      return;
    }
    for (const Rank each : groups.mates) {
      if (each != me) PMPI_Send(&model_, kBytes, MPI_BYTE, each, kTag, comm);
    }
  }

  ClockHistory history_;  // of the lowest rank of a clock
  ClockModel model_;
};

Seconds began = 0;
CommonTime& common_time() { return lasting<CommonTime>(); }

constexpr Seconds kPatience = 5;  // MPI_Init has just ended on all ranks
/// Communicators at a time that are looked at: each takes 9 (Open MPI) or 15 KiB (MPICH).
constexpr std::size_t kMostObserved = 1 << 10;

/// Says in the file of the summary, until that is written, that MPI has begun with the library.
/// `why`: it is inactive; empty: it is active.
void note_begin(const std::string& why) {
  const auto name = environment("LATECOMER_SUMMARY");
  if (!name) return;
  (void)write_stats_file(from_first_folder(*name), std::string("{\"active\":") +
                                                       (why.empty() ? "true" : "false") +
                                                       ",\"why\":" + json_quoted(why) + "}\n");
}

void report_inactive(const std::string& why) {
  log_line("inactive, the MPI library carries out all calls: " + why);
  note_begin(why);
}

/// MPI_COMM_WORLD has one rank, but the launcher started more: they are jobs of their own, usually
/// since the launcher belongs to another MPI library.
void report_lone_rank() {
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}) {
    const auto text = environment(name);
    if (!text || *text == "1" || *text == "0") continue;
    const auto rank = environment("PMI_RANK").value_or(environment("SLURM_PROCID").value_or("0"));
    if (rank == "0") {
      const std::string why =
          "the program has one rank, but " + std::string(name) + " is " + *text +
          "; a launcher of another MPI library starts programs of one rank each";
      log_line("inactive: " + why);
      note_begin(why);
    }
    return;
  }
  note_begin("the program has one rank, which waits for nobody");
}

/// Its ranks could not meet: some may have no library, or be of another MPI_COMM_WORLD.
bool has_no_identity(MPI_Comm comm) { return !has_identity(comm); }

/// The trouble that this rank has with its trace; empty: none.
struct Trouble {
  std::string text;
};
std::string& trouble() { return lasting<Trouble>().text; }

/// One rank says it for all that have any.
void tell_trouble(MPI_Comm comm) {
  if (!environment("LATECOMER_TRACE")) return;
  struct {
    int lacks;
    int rank;
  } first{trouble().empty() ? 1 : 0, rank_in(comm)};
  int all = 1 - first.lacks;
  PMPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_2INT, MPI_MINLOC, comm);
  PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_SUM, comm);
  if (rank_in(comm) == first.rank && all > 0) {
    log_line(trouble() + (all > 1 ? "; ranks with such trouble: " + std::to_string(all) : ""));
  }
  trouble().clear();
}

/// In MPI_Finalize, when the program can call nothing more: other ranks may wait for what it does
/// there, in functions of attributes of MPI_COMM_SELF.
void end_activity() {
  if (!is_active()) return;
  const OwnArithmetic arithmetic;
  keep_short_calls();
  messages::end();
  outside::entered();
  fast_path.active = false;
  const Seconds elapsed = monotonic_clock() - began;
  const bool reported = ledger_is_kept();
  if (reported) common_time().compare(shared_comm::link().comm());
  if (trace::is_on()) {
    if (const auto known = outside::totals(); known.time > 0) trace::recorder()->add(known);
    trace::recorder()->end();
  }
  tell_trouble(shared_comm::link().comm());
  if (!reported) return;
  JobSummary job =
      summarise_job(shared_comm::link().comm(), ledger_totals(), elapsed, common_time().model());
  job.observes = fast_path.observes;
  ledger_add(job);
}

}  // namespace

void begin_activity() {
  follow_next();  // where no loader has done so
  const OwnArithmetic arithmetic;
  note_surroundings();
  const Mode mode = mode_of_environment();
  if (mode == Mode::off) return;
  if (ranks_of(MPI_COMM_WORLD) == 1) return report_lone_rank();
  const Rank rank = rank_in(MPI_COMM_WORLD);
  if (tolerates_failures()) {
    if (rank == 0) {
      report_inactive(
          "the job tolerates failures of ranks (--with-ft), and the library waits for all of them");
    }
    return;
  }
  const bool looks_on = mode == Mode::observe;
  const Policy policy = policy_of(mode);
  const Answer answer = shake_hands(shared_settings(mode, policy), kPatience);
  if (!answer.all) {
    (void)end_with_mpi(drop_greetings);
    if (!answer.problem.empty()) report_inactive(answer.problem);
    return;
  }
  if (shared_comm::make() != MPI_SUCCESS) {
    if (rank == 0) report_inactive("MPI could not make a communicator beside MPI_COMM_WORLD");
    return;
  }
  (void)end_with_mpi(end_activity);  // the first of all
  name_world();
  Defaults& start = defaults();
  fast_path.observes = looks_on;
  if (fast_path.observes) {
    want_sentence();
    start.most_states = kMostObserved;
  }
  start.policy = policy;
  start.waits_for_synchronising_calls = true;
  start.leaves_alone = has_no_identity;
  fast_path.min_bytes = min_bytes();
  fast_path.sleeps = asked_to_sleep() && !fast_path.observes;
  tell_settings(start.policy);
  if (rank == 0) note_begin("");
  trace::report_to([](const std::string& line) { trouble() = line; });
  const bool reported = ledger_is_kept();
  if (reported) {
    common_time().compare(shared_comm::link().comm());
    stamps::keep();
  }
  fast_path.counts = trace::is_on() || reported;  // either begins here
  tell_trouble(shared_comm::link().comm());
  began = monotonic_clock();
  fast_path.active = true;
  messages::begin();
  pass_short_calls();
}

}  // namespace latecomer
