/* Buffers in memory of a device, which ends the program if the processor touches it. The runtime
 * is a library made for the test (device/), which $TEST_DEVICE names. */
#include <dlfcn.h>

#include "cases.h"
#include "device/device.h"

enum { count = 1500, rounds = 12 };

static struct {
  void* (*allocate)(size_t);
  void (*open)(int);
  int (*last_error)(void);
} device;

/* Loads the runtime, as Python programs do late. */
static int load(void) {
  const char* const path = getenv("TEST_DEVICE");
  void* const library = path != NULL ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
  if (library == NULL) return 0;
  int (*init)(unsigned) = NULL;
  *(void**)&init = dlsym(library, "zeInit");
  *(void**)&device.allocate = dlsym(library, "device_allocate");
  *(void**)&device.open = dlsym(library, "device_open");
  *(void**)&device.last_error = dlsym(library, "device_last_error");
  return init != NULL && init(0) == 0;
}

/* A buffer of this rank's, on the device or not. */
struct buffer {
  double* data;
  int on_device;
};

static struct buffer make_buffer(int on_device, int length) {
  const size_t bytes = sizeof(double) * (size_t)length;
  return (struct buffer){on_device ? device.allocate(bytes) : calloc(1, bytes), on_device};
}

static void fill(struct buffer to, int length, int salt) {
  if (to.on_device) device.open(1);
  for (int i = 0; i < length; ++i) to.data[i] = (i * 7 + salt) % 1000;
  if (to.on_device) device.open(0);
}

static int is_same(struct buffer ours, const double* theirs, int length) {
  if (ours.on_device) device.open(1);
  const int same = memcmp(ours.data, theirs, sizeof(double) * (size_t)length) == 0;
  if (ours.on_device) device.open(0);
  return same;
}

struct buffers {
  struct buffer in, out;
  double *host_in, *host_out; /* the same on the host, for the MPI library's own functions */
  int length;
};

static void refill(struct buffers* all, struct where at, int salt) {
  fill(all->in, all->length, salt + at.rank);
  fill((struct buffer){all->host_in, 0}, all->length, salt + at.rank);
  fill(all->out, all->length, salt + 2 * at.rank);
  fill((struct buffer){all->host_out, 0}, all->length, salt + 2 * at.rank);
}

/* Ends the case where the runtime is missing. */
#define WRONG_UNLESS_LOADED(loaded)              \
  do {                                           \
    if (!(loaded)) {                             \
      fprintf(stderr, "TEST_DEVICE is missing"); \
      return 1;                                  \
    }                                            \
  } while (0)

#define SAME(what)                                        \
  WRONG_IF((what) != MPI_SUCCESS);                        \
  WRONG_IF(!is_same(all->in, all->host_in, all->length)); \
  WRONG_IF(!is_same(all->out, all->host_out, all->length))

static int call_all(struct where at, struct buffers* all, MPI_Comm comm, int round) {
  int mistakes = 0;
  const int root = round % at.ranks;
  double* const in = all->in.data;
  double* const out = all->out.data;
  refill(all, at, round);
  LIBRARY(Allreduce)(all->host_in, all->host_out, count, MPI_DOUBLE, MPI_SUM, comm);
  SAME(MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, comm));
  LIBRARY(Allreduce)(MPI_IN_PLACE, all->host_out, count, MPI_DOUBLE, MPI_MAX, comm);
  SAME(MPI_Allreduce(MPI_IN_PLACE, out, count, MPI_DOUBLE, MPI_MAX, comm));
  refill(all, at, round + 1);
  LIBRARY(Reduce)(all->host_in, all->host_out, count, MPI_DOUBLE, MPI_SUM, root, comm);
  WRONG_IF(MPI_Reduce(in, out, count, MPI_DOUBLE, MPI_SUM, root, comm) != MPI_SUCCESS);
  WRONG_IF(at.rank == root && !is_same(all->out, all->host_out, all->length));
  refill(all, at, round + 2);
  LIBRARY(Bcast)(all->host_out, count, MPI_DOUBLE, root, comm);
  SAME(MPI_Bcast(out, count, MPI_DOUBLE, root, comm));
  LIBRARY(Allgather)(all->host_in, count, MPI_DOUBLE, all->host_out, count, MPI_DOUBLE, comm);
  SAME(MPI_Allgather(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, comm));
  refill(all, at, round + 3);
  LIBRARY(Gather)(all->host_in, count, MPI_DOUBLE, all->host_out, count, MPI_DOUBLE, root, comm);
  SAME(MPI_Gather(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, root, comm));
  LIBRARY(Scatter)(all->host_in, count, MPI_DOUBLE, all->host_out, count, MPI_DOUBLE, root, comm);
  SAME(MPI_Scatter(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, root, comm));
  return mistakes;
}

/* Parts with gaps between them, and elements with holes: what lies between is not touched. */
static int call_with_gaps(struct where at, struct buffers* all, MPI_Comm comm, int round) {
  int mistakes = 0;
  const int root = round % at.ranks;
  double* const in = all->in.data;
  double* const out = all->out.data;
  int lengths[64], begins[64];
  MPI_Datatype every_other = MPI_DATATYPE_NULL;
  MPI_Type_vector(count / 2, 1, 2, MPI_DOUBLE, &every_other);
  MPI_Type_commit(&every_other);
  for (int i = 0; i < at.ranks; ++i) {
    lengths[i] = count - 10 * (i + 1);
    begins[i] = (at.ranks - 1 - i) * count + 3;
  }
  const int mine = lengths[at.rank];
  refill(all, at, round);
  LIBRARY(Allgatherv)(all->host_in, mine, MPI_DOUBLE, all->host_out, lengths, begins, MPI_DOUBLE,
                      comm);
  SAME(MPI_Allgatherv(in, mine, MPI_DOUBLE, out, lengths, begins, MPI_DOUBLE, comm));
  LIBRARY(Allgatherv)(MPI_IN_PLACE, 0, MPI_DOUBLE, all->host_out, lengths, begins, MPI_DOUBLE,
                      comm);
  SAME(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DOUBLE, out, lengths, begins, MPI_DOUBLE, comm));
  refill(all, at, round + 1);
  LIBRARY(Bcast)(all->host_out, 1, every_other, root, comm);
  SAME(MPI_Bcast(out, 1, every_other, root, comm));
  MPI_Type_free(&every_other);
  return mistakes;
}

static int run_with(struct where at, int in_on_device, int out_on_device, MPI_Comm comm) {
  int mistakes = 0;
  struct buffers all;
  all.length = count * at.ranks + 10;
  all.in = make_buffer(in_on_device, all.length);
  all.out = make_buffer(out_on_device, all.length);
  all.host_in = malloc(sizeof(double) * (size_t)all.length);
  all.host_out = malloc(sizeof(double) * (size_t)all.length);
  for (int round = 0; round < rounds; ++round) {
    mistakes += call_all(at, &all, comm, round);
    mistakes += call_with_gaps(at, &all, comm, round);
  }
  free(all.host_in);
  free(all.host_out);
  return mistakes;
}

/* From the first call on, all ranks but one pass memory of the device. */
static int device_from_begin(struct where at) {
  WRONG_UNLESS_LOADED(load());
  return run_with(at, at.rank != 1, at.rank != 1, MPI_COMM_WORLD);
}

/* Calls are handled already when one rank begins to pass memory of the device. */
static int device_later(struct where at) {
  int mistakes = run_with(at, 0, 0, MPI_COMM_WORLD);
  if (at.rank == at.ranks - 1) WRONG_UNLESS_LOADED(load());
  const int passes = at.rank == at.ranks - 1;
  mistakes += run_with(at, passes, 0, MPI_COMM_WORLD);
  mistakes += run_with(at, 0, passes, MPI_COMM_WORLD);
  mistakes += run_with(at, passes, passes, MPI_COMM_WORLD);
  WRONG_IF(passes && device.last_error() != 0);
  return mistakes;
}

/* The runtime is there, and nobody passes its memory. */
static int device_never(struct where at) {
  WRONG_UNLESS_LOADED(load());
  return run_with(at, 0, 0, MPI_COMM_WORLD);
}

const struct named_case device_cases[] = {
    {"device_from_begin", device_from_begin},
    {"device_later", device_later},
    {"device_never", device_never},
    {NULL, NULL},
};
