#include "report.hpp"

#include <latecomer/latecomer.h>

#include <algorithm>
#include <vector>

#include "json.hpp"
#include "mpi.hpp"
#include "surroundings.hpp"

namespace bench {
namespace {

std::string header(const Options& o, int iterations, bool common, const std::string& host_list) {
  return '{' + field("version", quoted(latecomer_version())) + field("mpi", quoted(library())) +
         field("collective", quoted(o.collective)) + field("root", std::to_string(o.root)) +
         field("ranks", std::to_string(ranks())) + field("count", std::to_string(o.count)) +
         field("type", quoted(o.type)) +
         field("bytes", std::to_string(o.count * bytes_of(o.type))) + field("op", quoted(o.op)) +
         field("seed", std::to_string(o.seed)) + field("network", quoted(o.network)) +
         field("imbalance", quoted(o.imbalance_name())) +
         field("estimate", quoted(o.estimate_name())) + field("progress", quoted(o.progress)) +
         field("compute", number(o.compute)) + field("edge", number(o.edge)) +
         field("warmup", std::to_string(o.warmup)) +
         field("iterations", std::to_string(iterations)) +
         field("algorithms", list(o.algorithms, quoted)) +
         field("clock", quoted(common ? "common" : "per rank: elapsed times only")) +
         "\"hosts\":" + host_list + '}';
}

}  // namespace

Report::Report(const Options& options, int iterations, bool common_clock)
    : lines_(options.output), common_(common_clock) {
  lines_.write(header(options, iterations, common_, list(hosts(), quoted)));
}

void Report::add(int iteration, const Contender& contender, const Measured& measured) {
  if (rank() != 0) return;
  const auto& stamps = measured.stamps;
  const auto earlier = [](const Stamps& a, const Stamps& b) { return a.arrival < b.arrival; };
  const double first = std::min_element(stamps.begin(), stamps.end(), earlier)->arrival;
  std::string line = "{\"iteration\":" + std::to_string(iteration) +
                     ",\"algorithm\":" + quoted(contender.algorithm()) +
                     ",\"parameters\":" + quoted(contender.parameters()) +
                     ",\"by\":" + quoted(contender.handled() ? "latecomer" : "mpi");
  if (common_) {
    line +=
        ",\"arrival\":" + list(stamps, [&](const Stamps& s) { return number(s.arrival - first); });
    line += ",\"exit\":" + list(stamps, [&](const Stamps& s) { return number(s.exit - first); });
  } else {
    line +=
        ",\"elapsed\":" + list(stamps, [](const Stamps& s) { return number(s.exit - s.arrival); });
  }
  lines_.write(line + ",\"wrong\":" + std::to_string(measured.wrong) + '}');
}

}  // namespace bench
