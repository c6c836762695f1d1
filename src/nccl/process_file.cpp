#include "nccl/process_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"

namespace latecomer::nccl {
namespace {

constexpr const char* kFolder = "LATECOMER_TRACE";
constexpr const char* kBytes = "LATECOMER_TRACE_BYTES";

std::optional<std::string> variable(const char* name) {
  const char* const found = secure_getenv(name);
  if (found == nullptr || *found == '\0') return std::nullopt;
  return std::string(found);
}

std::optional<std::int32_t> whole_number(const char* name) {
  const auto text = variable(name);
  const bool digits = text && text->size() < 8 &&
                      std::ranges::all_of(*text, [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) return std::nullopt;
  return static_cast<std::int32_t>(std::strtol(text->c_str(), nullptr, 10));
}

/// This process's place in the job: what the launcher says, else that in the communicator.
Place place_in_job(Place in_communicator) {
  constexpr std::pair<const char*, const char*> kLaunchers[] = {
      {"RANK", "WORLD_SIZE"},  // torchrun, and what programs set for PyTorch
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      {"PMI_RANK", "PMI_SIZE"},
      {"SLURM_PROCID", "SLURM_NTASKS"}};
  for (const auto& [rank, ranks] : kLaunchers) {
    const auto own = whole_number(rank);
    const auto all = whole_number(ranks);
    if (own && all && *own < *all && *all >= in_communicator.ranks) return {*own, *all};
  }
  return in_communicator;
}

}  // namespace

void report(const std::string& line) {
  (void)write_all(STDERR_FILENO, "latecomer: " + line + '\n');
}

std::unique_ptr<trace::File> make_file(Place in_communicator, bool asks_launcher) {
  const Place place = asks_launcher ? place_in_job(in_communicator) : in_communicator;
  const auto pattern = variable(kFolder);
  if (!pattern) {
    if (place.rank == 0) {
      report(std::string(kFolder) + " names no folder: the calls of NCCL are not recorded");
    }
    return nullptr;
  }
  char host[64] = "";
  gethostname(host, sizeof host - 1);
  trace::Header header =
      trace::header_of(place.rank, place.ranks, host, LATECOMER_VERSION " in NCCL");
  header.messages = 1;
  if (const auto text = variable(kBytes)) try {
      header.limit = trace::read_limit(*text);
    } catch (const Error& error) {
      if (place.rank == 0) report(std::string(kBytes) + " is not used: " + error.what());
    }
  const std::string folder = expanded(*pattern, place.rank, variable);
  std::string why;
  auto made = trace::File::make(folder, header, why);
  if (!made) {
    report(std::string(kFolder) + ": rank " + std::to_string(place.rank) +
           " cannot write a trace of NCCL in '" + folder + "' (" + why + ')');
  }
  return made;
}

}  // namespace latecomer::nccl
