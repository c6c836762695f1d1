#include "runtime/trace/process_file.hpp"

#include "base/error.hpp"
#include "base/files.hpp"
#include "latecomer/latecomer.h"
#include "runtime/connection/introduction.hpp"
#include "runtime/report/log.hpp"
#include "runtime/report/stats_file.hpp"
#include "runtime/settings/environment.hpp"

namespace latecomer::trace {
namespace {

constexpr const char* kFolder = "LATECOMER_TRACE";
constexpr const char* kBytes = "LATECOMER_TRACE_BYTES";

void (*report)(const std::string& line) = log_line;

Header header_of_process() {
  int rank = 0;
  int ranks = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  PMPI_Get_processor_name(name, &length);
  Header header = header_of(rank, ranks, name, latecomer_version());
  header.clock = introduction_of_place().clock;
  return header;
}

}  // namespace

std::uint64_t limit_of_file() {
  const auto text = environment(kBytes);
  if (!text) return kDefaultBytes;
  try {
    return read_limit(*text);
  } catch (const Error& error) {
    report_unused(kBytes, error.what());
    return kDefaultBytes;
  }
}

std::unique_ptr<File> make_file() {
  const auto pattern = environment(kFolder);
  if (!pattern) return nullptr;
  Header header = header_of_process();
  header.limit = limit_of_file();
  const std::string folder = from_first_folder(stats_file_name(*pattern, header.rank));
  std::string why;
  auto made = File::make(folder, header, why);
  if (!made) {
    report(std::string(kFolder) + ": rank " + std::to_string(header.rank) +
           " cannot write a trace in '" + folder + "' (" + why + ')');
  }
  return made;
}

void report_missing(const std::string& what, int obstacle) {
  const std::string why = obstacle != 0 ? "cannot grow (" + meaning_of_error(obstacle) + ')'
                                        : std::string("is full: set ") + kBytes + " to more";
  report(what + " are not in the trace, whose file " + why);
}

void report_to(void (*to)(const std::string& line)) { report = to; }

}  // namespace latecomer::trace
