#include "runtime/report/job_summary.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/json.hpp"
#include "base/parse.hpp"
#include "base/text.hpp"
#include "lateness/calls.hpp"
#include "runtime/report/log.hpp"

namespace latecomer {
namespace {

/// "12.4 s", "3.1 ms", "-3.1 ms".
std::string duration(Seconds seconds) {
  const std::string sign = seconds < 0 ? "-" : "";
  seconds = std::abs(seconds);
  if (seconds >= 1) return sign + format_fixed(seconds, 1) + " s";
  const Seconds thousandths = seconds * 1e3;
  return sign + (thousandths >= 10 ? format_fixed(thousandths, 0) : format_digits(thousandths, 2)) +
         " ms";
}

std::string percent(double part, double all) {
  return std::to_string(std::lround(100 * part / all)) + " %";
}

/// The estimated saving, if there are handled calls.
std::string saving(const JobSummary& job) {
  const std::uint64_t handled = job.calls.handled;
  if (handled == 0) return "";
  const std::string hint = "`latecomer run --compare` measures it";
  if (!has_estimate(job)) {
    return " There is no estimate of the time that its calls saved: too few calls like them were "
           "the MPI library's to compare with (" +
           hint + ").";
  }
  std::string text = " Compared with calls like them that the MPI library carried out, " +
                     std::to_string(job.estimated) + " of these " + std::to_string(handled) +
                     " calls " + (job.saved < 0 ? "lost" : "saved") + " an estimated " +
                     duration(std::abs(job.saved)) +
                     " a rank (saved: " + duration(job.saved - job.saved_range) + " to " +
                     duration(job.saved + job.saved_range) + ')';
  if (job.estimated < handled) {
    text += "; no estimate for the other " + std::to_string(handled - job.estimated);
  }
  return text + "; " + hint + '.';
}

std::string counted(std::uint64_t count, const std::string& what) {
  return count > 0 ? std::to_string(count) + ' ' + what + ", " : "";
}

/// What ranks may have waited in, too.
std::string other_calls(const JobSummary& job) {
  return counted(job.nonblocking, "non-blocking collectives") +
         counted(job.persistent, "requests for persistent collectives") +
         counted(job.neighbour, "collectives among neighbours") +
         counted(job.calls.fallback_intercommunicator, "calls between groups") +
         "messages between two ranks, windows and files";
}

/// The time in them, or that it was not measured.
std::string time_in_others(const JobSummary& job) {
  // Only threads that are in MPI at once take longer together than the run.
  const bool threads = job.waiting + job.moving > job.elapsed;
  const std::string means = std::string(" (") + (threads ? "all its threads together; " : "") +
                            "means of " + std::to_string(job.ranks) + " ranks";
  const std::string unknown =
      counted(job.waits.unmatched, "calls that not all ranks are known to have made alike");
  if (job.elsewhere < 0) return means + "; not measured: " + unknown + other_calls(job) + ')';
  const std::string time = ", and " + duration(job.elsewhere) + " in " + other_calls(job) + means;
  if (unknown.empty()) return time + ')';
  return time + "; not measured: " + unknown.substr(0, unknown.size() - 2) + ')';
}

/// For whom the others waited most.
std::string late(const JobSummary& job) {
  const JobWaits& waits = job.waits;
  if (waits.costliest < 0) return "";
  const auto at = static_cast<std::size_t>(waits.costliest);
  const Seconds all = job.waiting * job.ranks;
  // As SHARE and FLOOR of python/latecomer/report/analysis/wording.py.
  const bool is_late = waits.cost[at] >= std::max(all / 5, job.elapsed * job.ranks / 100);
  std::string text = is_late ? " Rank " : " Nobody in particular is late. Rank ";
  text += std::to_string(waits.costliest);
  if (at < job.hosts.size()) text += " on host " + printable(job.hosts[at]);
  text += " cost the others most: " + duration(waits.cost[at]) + ", " +
          percent(waits.cost[at], all) + " of all waiting; it came last in " +
          percent(waits.last[at], static_cast<double>(waits.calls)) + " of " +
          std::to_string(waits.calls) + " calls";
  if (waits.all_calls > waits.calls + 1) {
    text += ", a sample of " + std::to_string(waits.all_calls);
  }
  text += '.';
  if (job.clock_error > 0) {
    text += " Clocks of hosts are compared to " + duration(job.clock_error) + '.';
  }
  if (waits.skipped >= 0) {
    text += " The first call, in which ranks waited " + duration(waits.skipped) +
            " together, is left out.";
  }
  return text;
}

/// Whose the calls were.
std::string carried_out(const JobSummary& job) {
  if (job.observes) {
    return " latecomer only observed: the MPI library carried out all calls, as without it.";
  }
  const std::uint64_t by_library = total(job.calls) - job.calls.handled;
  std::string text = " latecomer carried out " + std::to_string(job.calls.handled) +
                     " calls, the MPI library " + std::to_string(by_library);
  if (job.short_calls > 0) {
    text += ", and " + std::to_string(job.short_calls) + " more that are too short to gain";
  }
  return text + " (sums over the ranks)." + saving(job);
}

std::string json(const WaitingPlace& place) {
  return "{\"collective\":" + json_quoted(place.collective) +
         ",\"site\":" + json_quoted(place.site) + ",\"bytes\":" + std::to_string(place.bytes) +
         ",\"waiting_s\":" + format_number(place.waiting) +
         ",\"cost_s\":" + format_number(place.cost) + ",\"calls\":" + format_number(place.calls) +
         ",\"last\":" + format_number(place.last) +
         ",\"lateness_s\":" + format_number(place.lateness) + '}';
}

std::string json(const trace::Outside& outside) {
  const auto seconds = [](std::int64_t time) {
    return format_number(static_cast<Seconds>(time) * 1e-9);
  };
  return "{\"time_s\":" + seconds(outside.time) + ",\"preempted_s\":" + seconds(outside.preempted) +
         ",\"blocked_s\":" + seconds(outside.blocked) + '}';
}

std::string json(const std::vector<double>& numbers) {
  return json_list(numbers, [](double number) { return format_number(number); });
}

/// As many calls of equal cost would make each rank's cost.
std::vector<double> equal_calls(const JobWaits& waits) {
  std::vector<double> calls;
  for (std::size_t rank = 0; rank < waits.cost.size(); ++rank) {
    const double squares = waits.squares[rank];
    calls.push_back(squares > 0 ? waits.cost[rank] * waits.cost[rank] / squares : 0);
  }
  return calls;
}

void subtract(std::vector<double>& from, const std::vector<double>& those) {
  for (std::size_t i = 0; i < from.size(); ++i) from[i] -= those[i];
}

void add_to(std::vector<double>& sums, std::span<const double> those) {
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += those[i];
}

}  // namespace

/// What handled calls cannot have lost: the time inside calls. What they cannot have saved, as far
/// as anything was measured: the time of the run.
bool has_estimate(const JobSummary& job) {
  if (job.estimated == 0 || job.saved_range < 0) return false;
  return job.saved + job.saved_range <= job.elapsed &&
         job.saved_range - job.saved <= job.waiting + job.moving;
}

std::string describe(const JobSummary& job) {
  return "Of " + duration(job.elapsed) + " from MPI_Init to MPI_Finalize a rank spent " +
         duration(job.waiting) + " waiting for late ranks in collectives" +
         (job.slept > 0 ? " (asleep: " + duration(job.slept) + ')' : "") + ", " +
         (job.elsewhere < 0 ? "and " : "") + duration(job.moving) + " moving data" +
         time_in_others(job) + '.' + late(job) + carried_out(job);
}

std::string json(const JobSummary& job) {
  std::string calls;
  for (const Counter& counter : counters()) {
    calls += (calls.empty() ? "" : ",") + json_quoted(counter.name) + ':' +
             std::to_string(job.calls.*counter.member);
  }
  const JobWaits& waits = job.waits;
  const bool told = waits.costliest >= 0;
  const auto at = static_cast<std::size_t>(waits.costliest);
  const auto place = [](const WaitingPlace& each) { return json(each); };
  const auto host = [](const std::string& name) { return json_quoted(name); };
  const auto outside = [](const trace::Outside& of_rank) { return json(of_rank); };
  return "{\"active\":true,\"observes\":" + std::string(job.observes ? "true" : "false") +
         ",\"ranks\":" + std::to_string(job.ranks) +
         ",\"elapsed_s\":" + format_number(job.elapsed) +
         ",\"longest_s\":" + format_number(job.longest) +
         ",\"last_to_end\":" + std::to_string(job.last_to_end) +
         ",\"waiting_s\":" + format_number(job.waiting) +
         ",\"moving_s\":" + format_number(job.moving) +
         ",\"elsewhere_s\":" + (job.elsewhere >= 0 ? format_number(job.elsewhere) : "null") +
         ",\"slept_s\":" + format_number(job.slept) +
         ",\"saved_s\":" + (has_estimate(job) ? format_number(job.saved) : "null") +
         ",\"saved_range_s\":" + (has_estimate(job) ? format_number(job.saved_range) : "null") +
         ",\"estimated_calls\":" + std::to_string(has_estimate(job) ? job.estimated : 0) +
         ",\"calls\":{" + calls + "},\"least_handled\":" + std::to_string(job.least_handled) +
         ",\"short_calls\":" + std::to_string(job.short_calls) +
         ",\"nonblocking\":" + std::to_string(job.nonblocking) +
         ",\"persistent\":" + std::to_string(job.persistent) +
         ",\"neighbour\":" + std::to_string(job.neighbour) +
         ",\"unmatched\":" + std::to_string(waits.unmatched) +
         ",\"told\":" + std::to_string(waits.calls) +
         ",\"sampled_from\":" + std::to_string(waits.all_calls) +
         ",\"last_rank\":" + (told ? std::to_string(waits.costliest) : "null") + ",\"last_host\":" +
         json_quoted(told && at < job.hosts.size() ? job.hosts[at] : std::string()) +
         ",\"last_calls\":" + (told ? format_number(waits.last[at]) : "0") +
         ",\"skipped_s\":" + (waits.skipped >= 0 ? format_number(waits.skipped) : "null") +
         ",\"clock_error_s\":" + format_number(job.clock_error) +
         ",\"waited_s\":" + json(waits.waiting) + ",\"cost_s\":" + json(waits.cost) +
         ",\"equal_calls\":" + json(equal_calls(waits)) +
         ",\"outside\":" + json_list(job.outside, outside) +
         ",\"hosts\":" + json_list(job.hosts, host) +
         ",\"places\":" + json_list(waits.places, place) + '}';
}

void Waits::add(std::span<const Seconds> arrivals, std::span<const Seconds> exits,
                std::span<const Seconds> ready, bool by_all) {
  const std::size_t ranks = arrivals.size();
  ++calls;
  if (ranks == 1) {
    moving[0] += std::max(0.0, exits[0] - arrivals[0]);
    ++last[0];
    return;
  }
  std::vector<Seconds> of_ranks(9 * ranks);
  std::vector<Seconds> of_call(5);
  std::int32_t came_last = -1;
  std::int32_t came_first = -1;
  const std::uint8_t all = by_all ? 1 : 0;
  const auto part = [&](std::size_t at) { return std::span(of_ranks).subspan(at * ranks, ranks); };
  const auto one = [&](std::size_t at) { return std::span(of_call).subspan(at, 1); };
  examine({ranks, arrivals, exits, {&all, 1}, ready},
          {part(0),
           part(1),
           part(2),
           one(0),
           one(1),
           one(2),
           one(3),
           one(4),
           {&came_last, 1},
           {&came_first, 1}},
          {part(3), part(4), part(5), part(6), part(7), part(8)});
  add_to(waiting, part(3));
  add_to(moving, part(4));
  add_to(cost, part(5));
  for (std::size_t rank = 0; rank < ranks; ++rank) squares[rank] += part(5)[rank] * part(5)[rank];
  add_to(lateness, part(6));
  if (came_last >= 0) ++last[static_cast<std::size_t>(came_last)];
}

void Waits::remove(const Waits& other) {
  calls -= other.calls;
  subtract(waiting, other.waiting);
  subtract(moving, other.moving);
  subtract(cost, other.cost);
  subtract(squares, other.squares);
  subtract(lateness, other.lateness);
  subtract(last, other.last);
}

Seconds Waits::all_waiting() const {
  return std::accumulate(waiting.begin(), waiting.end(), Seconds{0});
}

}  // namespace latecomer
