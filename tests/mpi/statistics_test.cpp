// Statistics by key and by call site: nothing is lost, nothing counted twice, and they stay
// bounded.
#include "runtime/report/statistics.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "base/reproducible.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runtime/attachment.hpp"
#include "runtime/report/job_summary.hpp"
#include "runtime/report/ledger.hpp"
#include "runtime/report/stats_report.hpp"
#include "scratch_name.hpp"
#include "try_reduction.hpp"
#include "variable.hpp"

namespace latecomer::testing {
namespace {

struct Counted {
  int keys = 0;
  int sites = 0;
};

Counted count(MPI_Comm comm) {
  Counted counted;
  CHECK_EQ(latecomer_count_stats(comm, &counted.keys, &counted.sites), MPI_SUCCESS);
  return counted;
}

latecomer_key_stats key_of(MPI_Comm comm, int index) {
  latecomer_key_stats key{};
  CHECK_EQ(latecomer_get_key_stats(comm, index, &key), MPI_SUCCESS);
  return key;
}

latecomer_site_stats site_of(MPI_Comm comm, int index) {
  latecomer_site_stats site{};
  CHECK_EQ(latecomer_get_site_stats(comm, index, &site), MPI_SUCCESS);
  return site;
}

bool same(const latecomer_stats& one, const latecomer_stats& other) {
  return std::memcmp(&one, &other, sizeof one) == 0;
}

/// Keys and sites each add up to all calls of the communicator.
void check_sums(MPI_Comm comm) {
  latecomer_stats all{};
  latecomer_get_stats(comm, &all);
  latecomer_stats of_keys{};
  latecomer_stats of_sites{};
  const Counted counted = count(comm);
  for (int i = 0; i < counted.keys; ++i) {
    const latecomer_key_stats key = key_of(comm, i);
    add(of_keys, key.calls);
    std::uint64_t chosen = key.other_choices;
    for (int c = 0; c < key.choice_count; ++c) chosen += key.choices[c].calls;
    CHECK_EQ(chosen + key.calls.failed, total(key.calls));
    CHECK(key.last_choice < key.choice_count);
  }
  for (int i = 0; i < counted.sites; ++i) add(of_sites, site_of(comm, i).calls);
  CHECK(same(of_keys, all));
  CHECK(same(of_sites, all));
}

MPI_TEST(statistics_add_up) {
  const Kinds kinds;
  Random random(context.seed);
  const Communicator comm;
  const char* const algorithms[] = {"native", "ring", "segmented_ring:segments=7", "fastest"};
  for (int call = 0; call < 60; ++call) {
    if (call % 10 == 0) latecomer_set_algorithm(comm, "allreduce", algorithms[random.below(4)]);
    const char* const kind = random.below(3) == 0 ? "affine" : "int sum";
    const auto elements = static_cast<Count>(random.below(4) * 50);
    try_allreduce(comm, kinds.named(kind), {elements, random.below(2) == 0, 0}, random.next(),
                  "mixed");
  }
  check_sums(comm);
  CHECK(count(comm).keys >= 4);
}

MPI_TEST(a_key_tells_what_was_used) {
  if (context.ranks == 1) return;
  const Kinds kinds;
  const Communicator comm;
  const auto call = [&](const char* algorithm, const char* kind) {
    latecomer_set_algorithm(comm, "allreduce", algorithm);
    try_allreduce(comm, kinds.named(kind), {300, false, 0}, context.seed, algorithm);
  };
  call("segmented_ring:segments=7", "float sum");
  call("native", "float sum");
  call("segmented_ring:segments=7", "float sum");
  call("ring", "affine");
  CHECK_EQ(count(comm).keys, 2);
  const latecomer_key_stats sums = key_of(comm, 0);
  CHECK_EQ(std::string(sums.collective), "allreduce");
  CHECK_EQ(sums.bytes, 1200U);
  CHECK_EQ(sums.commutative, 1);
  CHECK_EQ(sums.exact, 0);
  CHECK_EQ(sums.period, 0);
  CHECK_EQ(sums.calls.handled, 2U);
  CHECK_EQ(sums.calls.native, 1U);
  CHECK_EQ(sums.choice_count, 2);
  CHECK_EQ(sums.last_choice, 0);
  CHECK_EQ(std::string(sums.choices[0].algorithm), "segmented_ring");
  CHECK_EQ(std::string(sums.choices[0].parameters), "segments=7");
  CHECK_EQ(sums.choices[0].calls, 2U);
  CHECK_EQ(std::string(sums.choices[1].algorithm), "native");
  CHECK_EQ(sums.times.told, 0U);
  CHECK(sums.times.inside > 0);
  CHECK_EQ(key_of(comm, 1).calls.fallback_operator, 1U);
  CHECK_EQ(key_of(comm, 1).commutative, 0);
}

MPI_TEST(places_of_the_program_are_told_apart) {
  const Communicator comm;
  int mine = 1;
  int result = 0;
  for (int call = 0; call < 3; ++call) {
    latecomer_allreduce(&mine, &result, 1, MPI_INT, MPI_SUM, comm);
  }
  latecomer_allreduce(&mine, &result, 1, MPI_INT, MPI_SUM, comm);
  CHECK_EQ(count(comm).sites, 2);
  CHECK_EQ(total(site_of(comm, 0).calls), 3U);
  CHECK_EQ(total(site_of(comm, 1).calls), 1U);
  CHECK(site_of(comm, 0).address != site_of(comm, 1).address);
  const std::string name = name_of_site(site_of(comm, 0).address);
  CHECK_TEXT(name.find("mpi_tests") != std::string::npos, name);
}

MPI_TEST(keys_are_bounded) {
  const Communicator comm;
  std::vector<int> mine(100, 1);
  std::vector<int> result(mine.size());
  for (int elements = 1; elements <= 80; ++elements) {
    latecomer_allreduce(mine.data(), result.data(), elements, MPI_INT, MPI_SUM, comm);
  }
  CHECK_EQ(count(comm).keys, LATECOMER_MAX_KEYS + 1);
  CHECK_EQ(std::string(key_of(comm, LATECOMER_MAX_KEYS).collective), "");
  CHECK_EQ(total(key_of(comm, LATECOMER_MAX_KEYS).calls), 80U - LATECOMER_MAX_KEYS);
  check_sums(comm);
}

MPI_TEST(sites_and_choices_are_bounded) {
  const Problem problem;
  Statistics statistics;
  std::vector<std::string> parameters;
  for (int i = 0; i < 300; ++i) parameters.push_back(std::to_string(i) + std::string(200, 'x'));
  for (int i = 0; i < 300; ++i) {
    EndedCall call{1, problem, nullptr, &latecomer_stats::handled};
    call.site = parameters[static_cast<std::size_t>(i)].data();
    call.well = true;
    call.algorithm = "ring";
    call.parameters = parameters[static_cast<std::size_t>(i)];
    statistics.add(call);
  }
  CHECK_EQ(statistics.sites().size(), std::size_t{LATECOMER_MAX_SITES} + 1);
  CHECK(statistics.sites().back().address == nullptr);
  CHECK_EQ(statistics.sites().back().calls.handled, 300U - LATECOMER_MAX_SITES);
  CHECK_EQ(statistics.key_count(), 1U);
  const latecomer_key_stats key = statistics.key(0);
  CHECK_EQ(key.choice_count, LATECOMER_MAX_CHOICES);
  CHECK_EQ(key.other_choices, 300U - LATECOMER_MAX_CHOICES);
  CHECK_EQ(key.last_choice, -1);
  CHECK_EQ(std::strlen(key.choices[0].parameters), sizeof key.choices[0].parameters - 1);
}

MPI_TEST(waiting_and_moving_are_told_apart) {
  if (context.ranks == 1) return;
  const Kinds kinds;
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "sorted_linear_tree");
  latecomer_set_estimate(comm, "online");
  constexpr double kLate = 0.02;
  const bool late = context.rank == context.ranks - 1;
  for (std::uint64_t call = 0; call < 8; ++call) {
    MPI_Barrier(comm);
    try_allreduce(comm, kinds.named("float sum"), {2000, false, late ? kLate : 0.0},
                  context.seed + call, "late");
  }
  const latecomer_key_stats key = key_of(comm, 0);
  CHECK_EQ(key.times.told, 8U);
  CHECK(key.estimated <= 8);
  CHECK(key.estimate_error >= 0);
  CHECK(key.times.moving >= 0);
  CHECK(key.times.waiting + key.times.moving <= key.times.inside);
  if (!late) CHECK(key.times.waiting > 8 * kLate / 2);
  CHECK_EQ(site_of(comm, 0).times.told, 8U);
}

/// The entry of the row of the first key below this title.
std::string entry_of(const std::string& report, const std::string& title, const std::string& next) {
  std::istringstream lines(report);
  for (std::string line, head; std::getline(lines, line); head = line) {
    const auto begin = head.find(title);
    if (begin == std::string::npos) continue;
    const std::string entry = line.substr(begin, head.find(next) - begin);
    return entry.substr(entry.find_last_of(' ') + 1);
  }
  return "no such title";
}

/// From the first call with an estimate: in the first call of all the late rank is unknown.
MPI_TEST(the_mean_estimate_error_is_shown) {
  if (context.ranks == 1) return;
  const Kinds kinds;
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "sorted_linear_tree");
  latecomer_set_estimate(comm, "online");
  const bool late = context.rank == context.ranks - 1;
  std::uint64_t expected = 0;
  for (std::uint64_t call = 0; call < 20; ++call) {
    MPI_Barrier(comm);
    try_allreduce(comm, kinds.named("float sum"), {2000, false, late ? 0.04 : 0.0},
                  context.seed + call, "estimate");
    if (!state_of(comm).chooser.expected().empty()) ++expected;
    ProcessStats stats;
    stats.communicators.push_back(
        {"", context.rank, context.ranks, {}, state_of(comm).statistics.keys(), {}});
    const latecomer_key_stats& key = stats.communicators.front().keys.front();
    CHECK_EQ(key.estimated, expected);
    const std::string shown = entry_of(stats_text(stats), "estimate off by s", "  calls");
    const std::string json = stats_json(stats);
    const std::string in_json = "\"mean_estimate_error_s\":";
    if (expected == 0) {
      CHECK_EQ(shown, "-");
      CHECK_TEXT(json.find(in_json + "null") != std::string::npos, json);
    } else {
      const double mean = key.estimate_error / static_cast<double>(expected);
      CHECK_TEXT(std::abs(std::stod(shown) - mean) < 1e-6, shown);
      CHECK_TEXT(json.find(in_json + format_number(mean)) != std::string::npos, json);
    }
  }
  if (context.rank == 0 || !state_of(comm).async_progress) CHECK(expected > 0);
}

MPI_TEST(places_in_the_period_have_keys_of_their_own) {
  if (context.ranks == 1) return;
  const Kinds kinds;
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "ring");
  latecomer_set_estimate(comm, "online");
  for (std::uint64_t call = 0; call < 30; ++call) {
    try_allreduce(comm, kinds.named("int sum"), {call % 3 == 2 ? 20 : 10, false, 0},
                  context.seed + call, "period");
  }
  int places = 0;
  for (int i = 0; i < count(comm).keys; ++i) {
    const latecomer_key_stats key = key_of(comm, i);
    if (key.bytes == 40 && key.period == 3) ++places;
  }
  CHECK_EQ(places, 2);
  check_sums(comm);
}

MPI_TEST(a_file_for_statistics_is_named_by_rank_process_and_job) {
  const std::string process = std::to_string(getpid());
  CHECK_EQ(stats_file_name("a-%r-%p-%%-%x-%", 3), "a-3-" + process + "-%%-%x-%");
  const Variable none("PMIX_NAMESPACE", "");
  const Variable job("SLURM_JOB_ID", "12/../3");
  const Variable step("SLURM_STEP_ID", "4");
  CHECK_EQ(stats_file_name("%j", 0), "12_.._3.4");
  const Variable pmix("PMIX_NAMESPACE", "prterun-host@1");
  CHECK_EQ(stats_file_name("%j/%j", 0), "prterun-host@1/prterun-host@1");
  for (const std::string each : {"%r", "a%p"}) CHECK(is_of_each_rank(each));
  for (const std::string one : {"a", "%j"}) CHECK(!is_of_each_rank(one));
}

MPI_TEST(statistics_go_to_a_new_file_and_follow_no_link) {
  const std::string folder = scratch_name("stats");
  const std::string name = folder + "/stats";
  const std::string other = folder + "/other";
  const auto text_of = [](const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  };
  CHECK_EQ(mkdir(folder.c_str(), 0700), 0);
  CHECK_EQ(write_stats_file(name, "one"), "");
  CHECK_EQ(write_stats_file(name, "two"), "");
  CHECK_EQ(text_of(name), "two");
  CHECK_EQ(chmod(name.c_str(), 0640), 0);  // as it was set: the new file has it, too
  CHECK_EQ(write_stats_file(name, "three"), "");
  struct stat found{};
  CHECK_EQ(stat(name.c_str(), &found), 0);
  CHECK_EQ(static_cast<int>(found.st_mode & 07777), 0640);
  CHECK_EQ(chmod(name.c_str(), 0440), 0);
  if (geteuid() != 0) CHECK_EQ(write_stats_file(name, "four"), "Permission denied");
  std::ofstream(other) << "precious";
  CHECK_EQ(std::remove(name.c_str()), 0);
  CHECK_EQ(symlink(other.c_str(), name.c_str()), 0);
  CHECK_EQ(write_stats_file(name, "three"), "no regular file");
  CHECK_EQ(text_of(other), "precious");
  // A file in the way of the new one stays untouched as well.
  CHECK_EQ(std::remove(name.c_str()), 0);
  const std::string in_the_way = name + '.' + std::to_string(getpid()) + ".0";
  CHECK_EQ(symlink(other.c_str(), in_the_way.c_str()), 0);
  CHECK_EQ(write_stats_file(name, "four"), "");
  CHECK_EQ(text_of(name), "four");
  CHECK_EQ(text_of(other), "precious");
  CHECK(write_stats_file(folder + "/missing/stats", "five") != "");
  CHECK_EQ(write_stats_file("/dev/null", "six"), "no regular file");
  std::filesystem::remove_all(folder);
}

MPI_TEST(statistics_that_are_not_there_are_refused) {
  const Communicator comm;
  latecomer_key_stats key{};
  latecomer_site_stats site{};
  CHECK_EQ(latecomer_get_key_stats(comm, 0, &key), MPI_ERR_ARG);
  CHECK_TEXT(std::string(last_error()).find("key: '0'") != std::string::npos, last_error());
  CHECK_TEXT(std::string(last_error()).find("once a call was made") != std::string::npos,
             last_error());
  CHECK_EQ(latecomer_get_site_stats(comm, -1, &site), MPI_ERR_ARG);
  CHECK_TEXT(std::string(last_error()).find("call site: '-1'") != std::string::npos, last_error());
  CHECK_EQ(latecomer_get_key_stats(comm, 0, nullptr), MPI_ERR_ARG);
  CHECK_EQ(latecomer_get_site_stats(comm, 0, nullptr), MPI_ERR_ARG);
  CHECK_EQ(latecomer_count_stats(comm, nullptr, nullptr), MPI_SUCCESS);
  CHECK_EQ(latecomer_count_stats(MPI_COMM_NULL, nullptr, nullptr), MPI_ERR_COMM);
}

MPI_TEST(times_of_threads_that_exceed_the_run_are_told_as_sums) {
  JobSummary job;
  job.elapsed = 1;
  job.waiting = 0.4;
  job.moving = 0.5;
  CHECK(describe(job).find("threads") == std::string::npos);
  job.moving = 0.7;
  CHECK(describe(job).find("700 ms moving data (all its threads together; ") != std::string::npos);
}

MPI_TEST(time_in_messages_is_told_where_it_is_measured) {
  JobSummary job;
  job.ranks = 2;
  job.elapsed = 2;
  job.moving = 0.7;
  job.nonblocking = 12;
  const auto says = [&](const char* words) {
    CHECK_TEXT(describe(job).find(words) != std::string::npos, describe(job));
  };
  says(
      ", and 700 ms moving data (means of 2 ranks; not measured: 12 non-blocking collectives, "
      "messages ");
  job.elsewhere = 0.25;
  says(
      ", 700 ms moving data, and 250 ms in 12 non-blocking collectives, messages between two "
      "ranks, ");
  says(" windows and files (means of 2 ranks).");
  job.waits.unmatched = 3;
  says(" ranks; not measured: 3 calls that not all ranks are known to have made alike).");
}

/// A fifth of all waiting, and 1 % of the time of all ranks.
MPI_TEST(who_costs_little_is_not_said_to_be_late) {
  JobSummary job;
  job.ranks = 2;
  job.elapsed = 10;
  job.waiting = 1;
  job.waits.costliest = 1;
  job.waits.calls = 9;
  job.waits.last = {0, 9};
  job.hosts = {"a", "b"};
  const std::string rank = " Rank 1 on host b cost the others most: ";
  for (const auto& [cost, waiting, late] :
       {std::tuple(0.5, 1.0, true), {0.3, 1.0, false}, {0.15, 0.15, false}}) {
    job.waits.cost = {0, cost};
    job.waiting = waiting;
    const std::string said = describe(job);
    CHECK_TEXT(said.find(rank) != std::string::npos, said);
    const bool nobody = said.find(" Nobody in particular is late." + rank) != std::string::npos;
    CHECK_TEXT(nobody != late, said);
  }
}

}  // namespace
}  // namespace latecomer::testing
