#include "runtime/call/device_memory.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>

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

}  // namespace

bool is_device_memory(const void* address) {
  static auto& loaded = *new Loaded;  // calls may come after static objects
  return address != nullptr && loaded.holds(address);
}

}  // namespace latecomer
