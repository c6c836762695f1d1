#include "runtime/settings/wisdom_file.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "base/reproducible.hpp"
#include "base/threads.hpp"
#include "choose/belief.hpp"
#include "choose/wisdom.hpp"
#include "latecomer/latecomer.h"
#include "runtime/progress/progress_thread.hpp"
#include "runtime/report/ledger.hpp"
#include "runtime/report/log.hpp"
#include "runtime/settings/defaults.hpp"
#include "runtime/settings/environment.hpp"
#include "transports/mpi/communicators.hpp"

namespace latecomer {
namespace {

constexpr const char* kVariable = "LATECOMER_WISDOM";
constexpr const char* kFile = "wisdom file";

/// The text of a file, and none where there is no file yet. Throws Error.
std::string read_text(const std::string& name) {
  const std::string path = from_first_folder(name);
  struct stat found{};
  if (lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return "";
  } else if (!S_ISREG(found.st_mode)) {  // the file will be replaced, and a link would be
    throw Error(kFile, name, "a regular file, and no link to one");
  }
  return read_small_file(kFile, path, Wisdom::kMaxText);
}

Wisdom parse(const std::string& text, const std::string& name) {
  return {text, std::string(kFile) + ' ' + name};
}

/// "Open-MPI-v4.1.4-" and a hash of all that the library says of itself.
std::string mpi_library() {
  std::vector<char> text(MPI_MAX_LIBRARY_VERSION_STRING + 1);
  int length = 0;
  PMPI_Get_library_version(text.data(), &length);
  const std::string_view whole(text.data(), static_cast<std::size_t>(length));
  std::string word;
  for (const char c : whole.substr(0, whole.find_first_of(",\n"))) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (plain || c == '.') {
      word += c;
    } else if (!word.empty() && word.back() != '-') {
      word += '-';
    }
  }
  return word + '-' + format_hex(fnv1a(whole));
}

/// Communicators with the same key learn the same. Hosts are not named: jobs get others each time.
std::string key_of(const CommState& state) {
  static const auto& mpi = *new std::string(mpi_library());
  const Placement& placement = state.chooser.placement();
  const Rank nodes = placement.empty() ? state.ranks : Nodes(placement, state.ranks).count();
  return std::string("latecomer=") + latecomer_version() + " mpi=" + mpi +
         " nodes=" + std::to_string(nodes) + " ranks=" + std::to_string(state.ranks) +
         " network=" + to_string(state.chooser.agreed_network());
}

double uncertainty(const NetworkBelief& belief) {
  const NetworkParts& all = belief.deviations;
  return std::inner_product(all.begin(), all.end(), all.begin(), 0.0);
}

class WisdomFile {
 public:
  WisdomFile() : name_(environment(kVariable).value_or("")) {
    if (name_.empty() || !end_with_mpi([] { lasting<WisdomFile>().write(); })) return;
    writes_ = rank_in(MPI_COMM_WORLD) == 0;
  }

  [[nodiscard]] std::uint64_t hash() {
    if (name_.empty()) return 0;
    const std::lock_guard hold(guard_);
    return read_once();
  }
  void begin(CommState& state) {
    const std::string key = key_of(state);
    const std::lock_guard hold(guard_);
    const NetworkBelief* const found = begun_with_.find(key);
    if (found == nullptr) return;
    state.chooser.begin_with(*found);
    if (state.rank != 0 || !logs_info()) return;
    const NetworkBelief believed = {Belief::credible(found->logarithms), found->deviations};
    log_line(describe(state.comm) +
             " begins with what earlier jobs have learnt of the network: " + to_string(believed));
  }
  void open(CommState& state) {
    if (!writes_) return;
    const std::lock_guard hold(guard_);
    open_.push_back(&state);
  }
  void close(CommState& state) {
    if (!writes_) return;
    const std::lock_guard hold(guard_);
    if (std::erase(open_, &state) > 0) note(state);
  }

 private:
  std::uint64_t read_once() {
    if (hash_ != 0) return hash_;
    hash_ = fnv1a("no text");
    try {
      const std::string text = read_text(name_);
      begun_with_ = parse(text, name_);
      hash_ = fnv1a("text" + text);
    } catch (const Error& error) {
      writes_ = false;
      report_unused(kVariable, error.what());
    }
    return hash_;
  }
  /// The communicator that knows most counts, of those with the same key.
  void note(const CommState& state) {
    const auto learnt = state.chooser.network_learnt();
    if (!learnt) return;
    const auto [found, fresh] = learnt_.try_emplace(key_of(state), *learnt);
    if (!fresh && uncertainty(*learnt) < uncertainty(found->second)) found->second = *learnt;
  }
  /// Other jobs may have written since this one has read: their entries stay.
  void write() {
    const std::lock_guard hold(guard_);
    for (const CommState* const state : open_) note(*state);
    open_.clear();
    if (!writes_ || learnt_.empty()) return;
    try {
      Wisdom wisdom = parse(read_text(name_), name_);
      for (const auto& [key, belief] : learnt_) wisdom.put(key, belief);
      const std::string why = write_stats_file(from_first_folder(name_), wisdom.text());
      if (why.empty()) return;
      log_line(std::string(kVariable) + ": cannot write the file '" + name_ + "' (" + why + ')');
    } catch (const Error& error) {
      log_line(std::string(kVariable) + " is not written: " + error.what());
    }
  }

  std::string name_;
  bool writes_ = false;  // rank 0 of MPI_COMM_WORLD, unless the file is not usable
  std::mutex guard_;
  std::uint64_t hash_ = 0;  // of the text; 0: not read so far
  Wisdom begun_with_;
  std::vector<CommState*> open_;
  std::map<std::string, NetworkBelief> learnt_;  // in this job, by key
};

WisdomFile& wisdom_file() { return lasting<WisdomFile>(); }

}  // namespace

std::uint64_t hash_of_wisdom(const CommState& state) {
  return state.chooser.policy().reproducible ? 0 : wisdom_file().hash();
}

void begin_with_wisdom(CommState& state, bool alike) {
  if (!alike) return report_unused(kVariable, "not all ranks have read the same");
  if (hash_of_wisdom(state) != 0) wisdom_file().begin(state);
}

void wisdom_open(CommState& state) { wisdom_file().open(state); }
void wisdom_close(CommState& state) { wisdom_file().close(state); }

}  // namespace latecomer
