// The profiler interface of NCCL as a host of plug-ins has it, each version in full. Written from
// its public description (plugins/profiler/README.md and src/include/plugin/profiler/ of
// https://github.com/NVIDIA/nccl), apart from what the plug-in has: each checks the other.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace api {

enum Kind {
  group = 1 << 0,
  coll = 1 << 1,
  p2p = 1 << 2,
  proxy_op = 1 << 3,
  kernel_ch = 1 << 6,
  group_api = 1 << 8,
  coll_api = 1 << 9,
  ce_coll = 1 << 12,
};

struct Coll4 {
  uint64_t seqNumber;
  const char* func;
  void const* sendBuff;
  void* recvBuff;
  size_t count;
  int root;
  const char* datatype;
  uint8_t nChannels;
  uint8_t nWarps;
  const char* algo;
  const char* proto;
};
struct Coll5 : Coll4 {
  void* parentGroup;
};
struct P2p4 {
  const char* func;
  void* buff;
  const char* datatype;
  size_t count;
  int peer;
  uint8_t nChannels;
};
struct P2p5 : P2p4 {
  void* parentGroup;
};
struct GroupApi {
  bool graphCaptured;
  int groupDepth;
};
struct CollApi {
  const char* func;
  size_t count;
  const char* datatype;
  int root;
  void* stream;
  bool graphCaptured;
};
struct ProxyOp {
  pid_t pid;
  uint8_t channelId;
  int peer;
  int nSteps;
  int chunkSize;
  int isSend;
};
struct KernelCh {
  uint8_t channelId;
  uint64_t pTimer;
};
struct CeColl : Coll4 {
  const char* syncStrategy;
  bool intraBatchSync;
  uint32_t batchSize, numBatches, ceSeqNum;
  void* stream;
};

template <class Type, class Coll, class P2p, class More>
struct Event {
  Type type;
  void* parentObj;
  int rank;
  union {
    GroupApi groupApi;
    CollApi collApi;
    Coll coll;
    P2p p2p;
    ProxyOp proxyOp;
    KernelCh kernelCh;
    More more;
  };
};
using Event4 = Event<uint8_t, Coll4, P2p4, int>;
using Event5 = Event<uint64_t, Coll5, P2p5, int>;
using Event6 = Event<uint64_t, Coll5, P2p5, CeColl>;

union StateArgs {
  struct {
    size_t transSize;
  } proxyStep;
  struct {
    uint64_t pTimer;
  } kernelCh;
};
inline constexpr int kernel_ch_stop = 22;

using Logger = void (*)(int, unsigned long, const char*, int, const char*, ...);

template <class Event, class... Init>
struct Profiler {
  const char* name;
  int (*init)(Init..., const char* commName, int nNodes, int nranks, int rank, Logger logfn);
  int (*startEvent)(void* context, void** handle, Event* event);
  int (*stopEvent)(void* handle);
  int (*recordEventState)(void* handle, int state, StateArgs* args);
  int (*finalize)(void* context);
};
struct Profiler4 {
  const char* name;
  int (*init)(void** context, int* mask, const char* commName, uint64_t commHash, int nNodes,
              int nranks, int rank, Logger logfn);
  int (*startEvent)(void* context, void** handle, Event4* event);
  int (*stopEvent)(void* handle);
  int (*recordEventState)(void* handle, int state, StateArgs* args);
  int (*finalize)(void* context);
};
using Profiler5 = Profiler<Event5, void**, uint64_t, int*>;
using Profiler6 = Profiler<Event6, void**, uint64_t, int*>;

}  // namespace api
