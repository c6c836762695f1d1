#include "runtime/call/host_buffers.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "base/threads.hpp"
#include "transports/mpi/layout.hpp"

namespace latecomer {
namespace {

// The few declarations of the runtimes that are used; none of their headers need be there.

/// cuPointerGetAttribute of CUDA's driver. It fails for addresses that CUDA does not know.
using CudaQuery = int (*)(void* to, int attribute, std::uintptr_t address);
constexpr int kCudaMemoryType = 2;
constexpr unsigned kCudaHost = 1;

/// hipPointerGetAttributes. The numbers of memory types changed in ROCm 6, the rest did not.
struct HipAttributes {
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
  int managed;
  unsigned flags;
  std::array<std::uint64_t, 8> reserve;  // should a later version have more
};
using HipQuery = int (*)(HipAttributes* to, const void* address);
using HipLastError = int (*)();

/// Level Zero asks within a context; those of one driver know each other's memory.
struct ZeContextDesc {
  std::uint32_t structure = 0xd;
  const void* next = nullptr;
  std::uint32_t flags = 0;
};
struct ZeMemoryProperties {
  std::uint32_t structure = 0x17;
  void* next = nullptr;
  std::uint32_t type = 0;
  std::uint64_t id = 0;
  std::uint64_t page_size = 0;
};
constexpr std::uint32_t kZeDevice = 2;
constexpr std::uint32_t kZeShared = 3;
using ZeDriverGet = int (*)(std::uint32_t* count, void** drivers);
using ZeContextCreate = int (*)(void* driver, const ZeContextDesc* desc, void** context);
using ZeQuery = int (*)(void* context, const void* address, ZeMemoryProperties* to, void** device);

/// A function of a library that is in the process.
template <class Function>
Function find(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

bool ask_cuda(void* library, const void* address) {
  static const auto query = find<CudaQuery>(library, "cuPointerGetAttribute");
  unsigned type = 0;
  return query != nullptr &&
         query(&type, kCudaMemoryType, reinterpret_cast<std::uintptr_t>(address)) == 0 &&
         type != kCudaHost;
}

bool ask_hip(void* library, const void* address) {
  static const auto query = find<HipQuery>(library, "hipPointerGetAttributes");
  static const auto take_error = find<HipLastError>(library, "hipGetLastError");
  if (query == nullptr) return false;
  HipAttributes found{};
  if (query(&found, address) != 0) {
    if (take_error != nullptr) (void)take_error();  // the program asks for errors of its own calls
    return false;
  }
  return found.device_pointer != nullptr && (found.host_pointer == nullptr || found.managed != 0);
}

/// A context of each driver, once the program has set the drivers up.
struct ZeContexts {
  std::array<void*, 8> all{};
  std::uint32_t count = 0;

  void make(void* library) {
    const auto get = find<ZeDriverGet>(library, "zeDriverGet");
    const auto create = find<ZeContextCreate>(library, "zeContextCreate");
    std::array<void*, 8> drivers{};
    auto known = static_cast<std::uint32_t>(drivers.size());
    if (get == nullptr || create == nullptr || get(&known, drivers.data()) != 0) return;
    for (std::uint32_t i = 0; i < known && i < drivers.size(); ++i) {
      const ZeContextDesc desc;
      if (create(drivers[i], &desc, &all[count]) == 0) ++count;
    }
  }
};

bool ask_level_zero(void* library, const void* address) {
  static std::mutex guard;
  static ZeContexts contexts;
  static const auto query = find<ZeQuery>(library, "zeMemGetAllocProperties");
  if (query == nullptr) return false;
  const std::lock_guard hold(guard);
  if (contexts.count == 0) contexts.make(library);
  for (std::uint32_t i = 0; i < contexts.count; ++i) {
    ZeMemoryProperties found;
    void* device = nullptr;
    if (query(contexts.all[i], address, &found, &device) != 0) continue;
    if (found.type == kZeDevice || found.type == kZeShared) return true;
  }
  return false;
}

struct Runtime {
  const char* library;  // the begin of its file's name
  bool (*ask)(void* library, const void* address);
};
constexpr std::array<Runtime, 3> kRuntimes = {{
    {"libcuda.so", ask_cuda},
    {"libamdhip64", ask_hip},
    {"libze_loader.so", ask_level_zero},
}};

/// The runtimes in the process. Programs may load them at any time, as Python does.
class Loaded {
 public:
  [[nodiscard]] bool holds(const void* address) {
    look();
    for (std::size_t i = 0; i < kRuntimes.size(); ++i) {
      void* const library = libraries_[i].load(std::memory_order_acquire);
      if (library != nullptr && kRuntimes[i].ask(library, address)) return true;
    }
    return false;
  }

 private:
  struct Search {
    unsigned long long before = 0;
    unsigned long long now = 0;
    std::array<std::string, kRuntimes.size()> paths;
  };

  /// Looks through the libraries if one was loaded since the last time: the dynamic linker counts.
  void look() {
    const unsigned long long before = loads_.load(std::memory_order_relaxed);
    Search search{before, before, {}};
    dl_iterate_phdr(visit, &search);
    if (search.now == before) return;
    const std::lock_guard hold(guard_);
    for (std::size_t i = 0; i < kRuntimes.size(); ++i) {
      if (search.paths[i].empty() || libraries_[i] != nullptr) continue;
      libraries_[i] = dlopen(search.paths[i].c_str(), RTLD_LAZY | RTLD_NOLOAD);  // it stays
    }
    loads_ = search.now;
  }

  static int visit(dl_phdr_info* info, std::size_t, void* to) {
    Search& search = *static_cast<Search*>(to);
    if (info->dlpi_adds == search.before) return 1;
    search.now = info->dlpi_adds;
    if (info->dlpi_name == nullptr) return 0;
    const char* const slash = std::strrchr(info->dlpi_name, '/');
    const char* const name = slash != nullptr ? slash + 1 : info->dlpi_name;
    for (std::size_t i = 0; i < kRuntimes.size(); ++i) {
      if (std::strncmp(name, kRuntimes[i].library, std::strlen(kRuntimes[i].library)) == 0) {
        search.paths[i] = info->dlpi_name;
      }
    }
    return 0;
  }

  std::mutex guard_;
  std::atomic<unsigned long long> loads_{0};
  std::array<std::atomic<void*>, kRuntimes.size()> libraries_{};
};

/// A duplicate of MPI_COMM_SELF would call the copy functions of the program's attributes.
MPI_Comm make_own_comm() {
  MPI_Comm comm = MPI_COMM_NULL;
  PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &comm);
  PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return comm;
}

/// True if a runtime is in the process and says that the address lies in memory of its devices, or
/// in memory that it moves between devices and host. Host memory that a program has registered with
/// a runtime does not count. No runtime is loaded or set up for this.
bool is_device_memory(const void* address) {
  return address != nullptr && lasting<Loaded>().holds(address);
}

char* moved(const void* buffer, MPI_Aint offset) {
  return const_cast<char*>(static_cast<const char*>(buffer)) + offset;
}

/// Where the data of a buffer begin: types may hold absolute addresses.
const void* first_byte(const void* buffer, MPI_Datatype type) {
  return moved(buffer, Layout(type).true_lb);
}

bool is_device_buffer(const void* buffer, Count count, MPI_Datatype type) {
  if (count == 0 || buffer == MPI_IN_PLACE || type == MPI_DATATYPE_NULL) return false;
  return is_device_memory(first_byte(buffer, type));
}

bool is_root(const Call& call, Rank me) { return !rooted(call.collective) || call.root == me; }

/// The buffer counts on this rank.
bool sends(const Call& call, Rank me) {
  const bool from_root =
      call.collective == Collective::bcast || call.collective == Collective::scatter;
  return call.sendbuf != MPI_IN_PLACE && (!from_root || is_root(call, me));
}
bool receives(const Call& call, Rank me) {
  const bool to_root =
      call.collective == Collective::reduce || call.collective == Collective::gather;
  if (call.collective == Collective::bcast) return !is_root(call, me);
  return call.recvbuf != MPI_IN_PLACE && (!to_root || is_root(call, me));
}

bool receives_something(const Call& call, Rank ranks) {
  if (!call.parts_differ()) return call.recvcount != 0;
  for (Rank rank = 0; rank < ranks; ++rank) {
    if (call.part_count(rank) != 0) return true;
  }
  return false;
}

}  // namespace

int send_to_self(const void* from, int count, MPI_Datatype type, void* to, int count_there,
                 MPI_Datatype type_there) {
  static const MPI_Comm comm = make_own_comm();
  static std::mutex guard;  // messages of two threads must not meet
  const std::lock_guard hold(guard);
  return native_calls.sendrecv(from, count, type, 0, 0, to, count_there, type_there, 0, 0, comm,
                               MPI_STATUS_IGNORE);
}

bool passes_device_memory(const Call& call, Rank ranks, Rank me) {
  if (sends(call, me) && is_device_buffer(call.sendbuf, call.sendcount, call.sendtype)) return true;
  return receives(call, me) &&
         is_device_buffer(call.recvbuf, receives_something(call, ranks) ? 1 : 0, call.recvtype);
}

HostBuffers::HostBuffers(const Call& call, Rank ranks, Rank me, bool copies) : call_(call) {
  if (!copies) return;
  if (sends(call, me)) {
    const Count parts = call.collective == Collective::scatter ? ranks : 1;
    add(sent_, call.sendbuf, call.sendtype, {{0, call.sendcount * parts}});
    if (sent_.memory) {
      transfer(sent_, true);
      call_.sendbuf = sent_.host;
    }
  }
  if (receives(call, me)) {
    add(received_, call.recvbuf, call.recvtype, received_blocks(call, ranks));
    if (received_.memory) {
      if (call.sendbuf == MPI_IN_PLACE) transfer(received_, true);
      call_.recvbuf = received_.host;
    }
  }
  if (call.collective == Collective::bcast) {  // one buffer has both names
    const Copy& copy = is_root(call, me) ? sent_ : received_;
    if (copy.memory) call_.sendbuf = call_.recvbuf = copy.host;
  }
}

/// Makes room for a copy if the buffer is memory of a device.
void HostBuffers::add(Copy& copy, const void* buffer, MPI_Datatype type,
                      std::vector<Block> blocks) {
  if (!is_device_buffer(buffer, 1, type)) return;
  const Layout layout(type);
  Count low = 0;
  Count high = 0;
  bool any = false;
  for (const Block& block : blocks) {
    if (block.count == 0) continue;
    const Count first = block.first * layout.extent;
    const Count last = (block.first + block.count - 1) * layout.extent;
    const Count begin = std::min(first, last) + layout.true_lb;
    const Count end = std::max(first, last) + layout.true_lb + layout.true_extent;
    low = any ? std::min(low, begin) : begin;
    high = any ? std::max(high, end) : end;
    any = true;
  }
  if (!any) return;
  copy.device = const_cast<void*>(buffer);
  copy.type = type;
  copy.blocks = std::move(blocks);
  // Where elements overlap or have holes, nothing but their data is copied.
  copy.memory = std::make_unique<char[]>(static_cast<std::size_t>(high - low));
  copy.host = copy.memory.get() - low;
}

void HostBuffers::transfer(Copy& copy, bool to_host) {
  constexpr Count kAtOnce = Count{1} << 30;  // bytes
  const Layout layout(copy.type);
  const Count most = std::max<Count>(1, kAtOnce / std::max<Count>(1, layout.size));
  for (const Block& block : copy.blocks) {
    for (Count done = 0; done < block.count && code_ == MPI_SUCCESS; done += most) {
      const auto now = static_cast<int>(std::min(most, block.count - done));
      const MPI_Aint offset = (block.first + done) * layout.extent;
      char* const device = moved(copy.device, offset);
      char* const host = copy.host + offset;
      code_ = send_to_self(to_host ? device : host, now, copy.type, to_host ? host : device, now,
                           copy.type);
    }
  }
}

int HostBuffers::finish() {
  if (received_.memory) transfer(received_, false);
  return code_;
}

void HostBuffers::abandon() {
  for (Copy* const each : {&sent_, &received_}) (void)each->memory.release();
}

}  // namespace latecomer
