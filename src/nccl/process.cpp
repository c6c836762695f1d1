// The recorders of this process, one a device, their files, and its communicators.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/parse.hpp"
#include "base/threads.hpp"
#include "nccl/recorder.hpp"

namespace latecomer::nccl {
namespace {

struct Place {
  std::int32_t rank, ranks;
};

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

/// The trace file of a rank, in the folder of LATECOMER_TRACE. Its place in the job is what the
/// launcher says, if `asks_launcher` and that says something, else that in the communicator. Null:
/// a line on stderr has told why not.
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

struct Process {
  std::mutex guard;
  std::map<int, Recorder*> of;                                                // by device
  std::array<std::atomic<Comm*>, std::size_t{1} << Handle::kSlotBits> comms;  // by slot
  std::uint64_t made = 0;                                                     // of these
  const pid_t pid = getpid();
};

Process& process() { return lasting<Process>(); }

/// True of a child by fork, which has no such file.
bool is_copy() { return getpid() != process().pid; }

/// The device of this thread, where CUDA is there to ask.
int device_of_thread() {
  using Ask = int (*)(int* device);
  static const auto ask = [] {
    constexpr const char* kName = "cuCtxGetDevice";
    void* found = dlsym(RTLD_DEFAULT, kName);
    void* const cuda = found == nullptr ? dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    if (cuda != nullptr) found = dlsym(cuda, kName);
    return reinterpret_cast<Ask>(found);
  }();
  int device = 0;
  return ask != nullptr && ask(&device) == 0 ? device : 0;
}

}  // namespace

void report(const std::string& line) {
  (void)write_all(STDERR_FILENO, "latecomer: " + line + '\n');
}

Comm* comm_of(const Handle& handle) {
  Comm* const comm = process().comms[handle.slot].load(std::memory_order_acquire);
  return comm != nullptr && comm->is_open.load(std::memory_order_acquire) ? comm : nullptr;
}

Recorder* Recorder::of_device(std::int32_t ranks, std::int32_t rank) {
  Process& all = process();
  const std::lock_guard lock(all.guard);
  const bool is_first = all.of.empty();
  const auto [found, fresh] = all.of.emplace(device_of_thread(), nullptr);
  if (!fresh) return found->second;
  // The launcher names one rank of the process.
  if (auto file = make_file({.rank = rank, .ranks = ranks}, is_first)) {
    found->second = new Recorder(std::move(file));  // it stays
  }
  return found->second;
}

bool Recorder::any() {
  Process& all = process();
  const std::lock_guard lock(all.guard);
  return std::ranges::any_of(all.of, [](const auto& each) { return each.second != nullptr; });
}

void Recorder::end_all() {
  if (is_copy()) return;
  Process& all = process();
  const std::lock_guard lock(all.guard);
  for (const auto& [device, each] : all.of) {
    if (each != nullptr) each->end();
  }
}

void Recorder::end() {
  const std::lock_guard lock(guard_);
  if (ended_) return;
  for (std::uint64_t at = 0; at < process().made; ++at) {
    Comm& comm = *process().comms[at].load(std::memory_order_relaxed);
    while (comm.recorder == this && comm.done.load() < comm.next.load()) write_first(comm);
  }
  ended_ = true;
  file_->end(std::max(trace::now_ns(), last_));
  const auto tell = [](std::uint64_t count, const std::string& why) {
    if (count > 0)
      report("not in the trace: " + std::to_string(count) + " of NCCL's calls, " + why);
  };
  tell(full_, file_->obstacle() != 0
                  ? "since its file cannot grow (" + meaning_of_error(file_->obstacle()) + ')'
                  : "since its file is full: set LATECOMER_TRACE_BYTES to more");
  tell(untimed_, "of which it was not told when the device began and ended them");
}

// ---- communicators

Comm* Recorder::open(std::uint64_t key, const char* name, std::int32_t ranks, std::int32_t rank) {
  Process& all = process();
  const std::scoped_lock lock(all.guard, guard_);
  if (is_copy() || ended_) return nullptr;
  Comm* own = nullptr;
  for (std::uint64_t at = 0; at < all.made; ++at) {
    Comm* const each = all.comms[at].load(std::memory_order_relaxed);
    if (!each->is_open.load(std::memory_order_relaxed)) {
      own = each;
    } else if (each->recorder == this && each->key == key && each->rank != rank) {
      report("a device is several ranks of a communicator of NCCL: one of them is recorded");
      return nullptr;
    }
  }
  if (own == nullptr) {
    if (all.made >= all.comms.size()) return nullptr;
    own = new Comm(all.made);
    own->recorder = this;
    all.comms[all.made++].store(own, std::memory_order_release);
  }
  trace::Communicator record;
  record.listed = trace::Listed::by_files;
  record.together = 1;
  record.id = described_++;
  record.key = key;
  record.number = numbers_[key]++;
  record.size = ranks;
  record.rank = rank;
  const bool is_named = name != nullptr && *name != '\0';
  record.name = texts_(*file_, is_named ? name : "communicator " + format_hex(key));
  if (!file_->has_room(1)) return nullptr;
  file_->append(record);
  own->recorder = this;
  own->id = record.id;
  own->key = key;
  own->ranks = ranks;
  own->rank = rank;
  own->calls.store(0, std::memory_order_relaxed);
  own->last_exit = 0;
  own->is_open.store(true, std::memory_order_release);
  ++open_;
  file_->set_end(0);
  return own;
}

void Recorder::close(Comm& comm) {
  if (is_copy()) return;
  Recorder& own = *comm.recorder;
  const std::lock_guard lock(own.guard_);
  if (!comm.is_open.exchange(false) || own.ended_) return;
  while (comm.done.load() < comm.next.load()) own.write_first(comm);
  if (--own.open_ == 0) own.file_->set_end(std::max(trace::now_ns(), own.last_));
}

}  // namespace latecomer::nccl
