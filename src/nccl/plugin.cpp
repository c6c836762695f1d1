// The profiler plug-in of NCCL: what NCCL calls, by versions 4 to 6 of its interface. It never
// fails: NCCL takes an error for its own.
#include <cstdint>

#include "nccl/profiler.h"
#include "nccl/recorder.hpp"

#define LATECOMER_EXPORTED extern "C" __attribute__((visibility("default")))

namespace latecomer::nccl {
namespace {

int init(void** context, std::uint64_t communicator, int* mask, const char* name, int ranks,
         int rank) {
  *context = nullptr;
  *mask = 0;
  try {
    const bool is_rank = 0 <= rank && rank < ranks;
    Recorder* const recorder = is_rank ? Recorder::of_device(ranks, rank) : nullptr;
    // NCCL has one mask for all communicators, so one that is not recorded has it, too.
    if (Recorder::any()) *mask = kNcclGroup | kNcclColl | kNcclP2p | kNcclKernelCh | kNcclCeColl;
    if (recorder != nullptr) *context = recorder->open(communicator, name, ranks, rank);
  } catch (...) {  // NOLINT(bugprone-empty-catch): no memory, so no record
  }
  return kNcclSuccess;
}

int init_of_4(void** context, int* mask, const char* name, std::uint64_t communicator,
              int /*nodes*/, int ranks, int rank, NcclLogger /*logger*/) {
  return init(context, communicator, mask, name, ranks, rank);
}
int init_of_5(void** context, std::uint64_t communicator, int* mask, const char* name,
              int /*nodes*/, int ranks, int rank, NcclLogger /*logger*/) {
  return init(context, communicator, mask, name, ranks, rank);
}

int start(void* context, void** handle, const NcclEvent& event, std::uint64_t type,
          bool has_group) {
  *handle = nullptr;
  if (context == nullptr) return kNcclSuccess;
  try {
    auto& comm = *static_cast<Comm*>(context);
    if (type == kNcclKernelCh) {
      *handle = Recorder::start(event.parent, event.kernel.channel, event.kernel.device_ns);
    } else if (type == kNcclCeColl) {
      Recorder::miss(comm);
    } else if (type == kNcclGroup) {
      *handle = Recorder::begin_kernel(comm);
    } else if (type == kNcclColl || type == kNcclP2p) {
      const bool is_message = type == kNcclP2p;
      const void* kernel = event.parent;
      if (has_group) kernel = is_message ? event.p2p.group : event.coll.group;
      *handle = Recorder::begin(comm, event, is_message, kernel);
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): no memory, so no record
  }
  return kNcclSuccess;
}
// NOLINTNEXTLINE(misc-const-correctness)
int start_of_4(void* context, void** handle, NcclEvent* event) {
  return start(context, handle, *event, event->type & 0xff, false);
}
// NOLINTNEXTLINE(misc-const-correctness)
int start_of_5(void* context, void** handle, NcclEvent* event) {
  return start(context, handle, *event, event->type, true);
}

/// An event without times of the device gets that of this call.
int stop(void* handle) {  // NOLINT(misc-const-correctness): NCCL's types
  Recorder::stop(handle, 0);
  return kNcclSuccess;
}

// NOLINTNEXTLINE(misc-const-correctness)
int state(void* handle, int state, NcclStateArguments* arguments) {
  if (state == kNcclKernelChStop) {
    Recorder::stop(handle, arguments != nullptr ? arguments->kernel.device_ns : 0);
  }
  return kNcclSuccess;
}

int finalize(void* context) {
  if (context != nullptr) Recorder::close(*static_cast<Comm*>(context));
  return kNcclSuccess;
}

__attribute__((destructor)) void end_of_process() { Recorder::end_all(); }

constexpr const char* kName = "latecomer";

}  // namespace
}  // namespace latecomer::nccl

LATECOMER_EXPORTED const NcclProfiler4 ncclProfiler_v4 = {
    latecomer::nccl::kName, latecomer::nccl::init_of_4, latecomer::nccl::start_of_4,
    latecomer::nccl::stop,  latecomer::nccl::state,     latecomer::nccl::finalize};
LATECOMER_EXPORTED const NcclProfiler5 ncclProfiler_v5 = {
    latecomer::nccl::kName, latecomer::nccl::init_of_5, latecomer::nccl::start_of_5,
    latecomer::nccl::stop,  latecomer::nccl::state,     latecomer::nccl::finalize};
LATECOMER_EXPORTED const NcclProfiler5 ncclProfiler_v6 = ncclProfiler_v5;
