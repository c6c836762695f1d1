/* The interface between NCCL and its profiler plug-ins, versions 4 to 6, as far as it is used here.
 *
 * Written from its public description, plugins/profiler/README.md and src/include/plugin/profiler/
 * of https://github.com/NVIDIA/nccl: the layouts and numbers are facts of that interface. The three
 * versions share them but for the order of init's parameters, and the width of an event's type: 8
 * bits in version 4, and 64 later, at the same place. */
#ifndef LATECOMER_NCCL_PROFILER_H
#define LATECOMER_NCCL_PROFILER_H

#include <stddef.h>
#include <stdint.h>

enum { kNcclSuccess = 0 };

/* Kinds of events, bits of the mask that init sets. NCCL also starts those of groups and of API
 * calls that nobody asked for, above the others. */
enum {
  kNcclGroup = 1 << 0,    /* what the device carries out by one kernel */
  kNcclColl = 1 << 1,     /* a collective is handed to the device */
  kNcclP2p = 1 << 2,      /* a send or a receive is */
  kNcclKernelCh = 1 << 6, /* one channel of the device works on one of these */
  kNcclCeColl = 1 << 12,  /* a collective is handed to copy engines, from version 6 on */
};

enum { kNcclKernelChStop = 22 }; /* a state of that: the device is done with the channel */

typedef struct {
  uint64_t type;
  void* parent; /* of a channel: the handle of its collective or message */
  int rank;
  union {
    struct {
      uint64_t number;
      const char* function; /* as in "AllReduce" */
      const void* send_buffer;
      void* receive_buffer;
      size_t count;
      int root;
      const char* type; /* as in "ncclFloat32" */
      uint8_t channels;
      uint8_t warps;
      const char* algorithm;
      const char* protocol;
      void* group; /* from version 5 on; in version 4 it is the parent */
    } coll;
    struct {
      const char* function; /* "Send" or "Recv" */
      void* buffer;
      const char* type;
      size_t count;
      int peer; /* a rank of the communicator */
      uint8_t channels;
      void* group; /* as above */
    } p2p;
    struct {
      uint8_t channel;
      uint64_t device_ns; /* by the device's clock: when it began */
    } kernel;
  };
} NcclEvent;

typedef union {
  struct {
    uint64_t device_ns; /* when it was done */
  } kernel;
} NcclStateArguments;

typedef void (*NcclLogger)(int level, unsigned long flags, const char* file, int line,
                           const char* format, ...);

typedef struct {
  const char* name;
  int (*init)(void** context, int* mask, const char* communicator_name, uint64_t communicator,
              int nodes, int ranks, int rank, NcclLogger logger);
  int (*start)(void* context, void** handle, NcclEvent* event);
  int (*stop)(void* handle);
  int (*state)(void* handle, int state, NcclStateArguments* arguments);
  int (*finalize)(void* context);
} NcclProfiler4;

typedef struct {
  const char* name;
  int (*init)(void** context, uint64_t communicator, int* mask, const char* communicator_name,
              int nodes, int ranks, int rank, NcclLogger logger);
  int (*start)(void* context, void** handle, NcclEvent* event);
  int (*stop)(void* handle);
  int (*state)(void* handle, int state, NcclStateArguments* arguments);
  int (*finalize)(void* context);
} NcclProfiler5; /* and 6 */

#endif
