#include "runtime/report/job_summary.hpp"

#include <cmath>

#include "base/json.hpp"
#include "base/parse.hpp"
#include "runtime/report/counters.hpp"
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

std::string percent(std::uint64_t part, std::uint64_t all) {
  return std::to_string((100 * part + all / 2) / all) + " %";
}

/// The estimated saving, if there are handled calls.
std::string saving(const JobSummary& job) {
  const std::uint64_t handled = job.calls.handled;
  if (handled == 0) return "";
  const std::string hint = "`latecomer run --compare` measures it";
  if (job.estimated == 0) {
    return " There is no estimate of the time that its calls saved: the MPI library carried out "
           "too few like them to compare with (" +
           hint + ").";
  }
  std::string text = " Compared with calls like them that the MPI library carried out, " +
                     std::to_string(job.estimated) + " of these " + std::to_string(handled) +
                     " calls " + (job.saved < 0 ? "lost" : "saved") + " an estimated " +
                     duration(std::abs(job.saved)) + " a rank (";
  text += job.saved_range < 0 ? "rough: the library's calls were in one stretch"
                              : "saved: " + duration(job.saved - job.saved_range) + " to " +
                                    duration(job.saved + job.saved_range);
  text += ')';
  if (job.estimated < handled) {
    text += "; no estimate for the other " + std::to_string(handled - job.estimated);
  }
  return text + "; " + hint + '.';
}

}  // namespace

void add_key(RankTotals& totals, const latecomer_key_stats& key) {
  const latecomer_times& times = key.times;
  totals.told += times.told;
  const Seconds known = times.waiting + times.moving;
  if (times.told > 0 && known > 0) {
    totals.waiting += times.inside * times.waiting / known;
    totals.moving += times.inside * times.moving / known;
  } else {
    const Collective collective =
        key.collective[0] == '\0' ? Collective::allreduce : parse_collective(key.collective);
    totals.unknown[static_cast<std::size_t>(collective)] += times.inside;
  }
}

std::string describe(const JobSummary& job) {
  std::string text = "Of " + duration(job.elapsed) +
                     " from MPI_Init to MPI_Finalize a rank spent " + duration(job.waiting) +
                     " waiting for late ranks in collectives, and " + duration(job.moving) +
                     " moving data (means of " + std::to_string(job.ranks) + " ranks).";
  if (job.last_rank >= 0 && job.told > 0) {
    text += " Rank " + std::to_string(job.last_rank) + " on host " + printable(job.last_host) +
            " came last in " + percent(job.last_calls, job.told) + " of the " +
            std::to_string(job.told) + " calls whose arrivals are known.";
  }
  const std::uint64_t by_library = total(job.calls) - job.calls.handled;
  text += " latecomer carried out " + std::to_string(job.calls.handled) +
          " calls, the MPI library " + std::to_string(by_library);
  if (job.short_calls > 0) {
    text += ", and " + std::to_string(job.short_calls) + " more that are too short to gain";
  }
  text += " (sums over the ranks)." + saving(job);
  if (job.nonblocking + job.persistent > 0) {
    text += " Not looked at: " + std::to_string(job.nonblocking) +
            " non-blocking collectives, and those of " + std::to_string(job.persistent) +
            " persistent requests.";
  }
  return text;
}

std::string json(const JobSummary& job) {
  std::string calls;
  for (const Counter& counter : counters()) {
    calls += (calls.empty() ? "" : ",") + json_quoted(counter.name) + ':' +
             std::to_string(job.calls.*counter.member);
  }
  return "{\"active\":true,\"ranks\":" + std::to_string(job.ranks) +
         ",\"elapsed_s\":" + format_number(job.elapsed) +
         ",\"waiting_s\":" + format_number(job.waiting) +
         ",\"moving_s\":" + format_number(job.moving) +
         ",\"saved_s\":" + (job.estimated == 0 ? "null" : format_number(job.saved)) +
         ",\"saved_range_s\":" +
         (job.estimated == 0 || job.saved_range < 0 ? "null" : format_number(job.saved_range)) +
         ",\"estimated_calls\":" + std::to_string(job.estimated) + ",\"calls\":{" + calls +
         "},\"least_handled\":" + std::to_string(job.least_handled) +
         ",\"short_calls\":" + std::to_string(job.short_calls) +
         ",\"nonblocking\":" + std::to_string(job.nonblocking) +
         ",\"persistent\":" + std::to_string(job.persistent) +
         ",\"told\":" + std::to_string(job.told) +
         ",\"last_rank\":" + (job.last_rank < 0 ? "null" : std::to_string(job.last_rank)) +
         ",\"last_host\":" + json_quoted(job.last_host) +
         ",\"last_calls\":" + std::to_string(job.last_calls) + '}';
}

}  // namespace latecomer
