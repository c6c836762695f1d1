/* Stands for an MPI library that takes memory of the device: in LD_PRELOAD behind the drop-in
 * library it gets all calls that go to the MPI library by their names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>

static void open_device(int open) {
  static void (*function)(int);
  if (function == NULL) {
    const char* const path = getenv("TEST_DEVICE");
    void* const library = path != NULL ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (library == NULL) return; /* the program has not loaded it yet */
    function = (void (*)(int))dlsym(library, "device_open");
  }
  function(open);
}

#define WITH_DEVICE(call)   \
  open_device(1);           \
  const int code = P##call; \
  open_device(0);           \
  return code

int MPI_Allreduce(const void* in, void* out, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c) {
  WITH_DEVICE(MPI_Allreduce(in, out, n, t, op, c));
}
int MPI_Reduce(const void* in, void* out, int n, MPI_Datatype t, MPI_Op op, int r, MPI_Comm c) {
  WITH_DEVICE(MPI_Reduce(in, out, n, t, op, r, c));
}
int MPI_Bcast(void* data, int n, MPI_Datatype t, int r, MPI_Comm c) {
  WITH_DEVICE(MPI_Bcast(data, n, t, r, c));
}
int MPI_Allgather(const void* in, int n, MPI_Datatype t, void* out, int m, MPI_Datatype u,
                  MPI_Comm c) {
  WITH_DEVICE(MPI_Allgather(in, n, t, out, m, u, c));
}
int MPI_Allgatherv(const void* in, int n, MPI_Datatype t, void* out, const int m[], const int d[],
                   MPI_Datatype u, MPI_Comm c) {
  WITH_DEVICE(MPI_Allgatherv(in, n, t, out, m, d, u, c));
}
int MPI_Gather(const void* in, int n, MPI_Datatype t, void* out, int m, MPI_Datatype u, int r,
               MPI_Comm c) {
  WITH_DEVICE(MPI_Gather(in, n, t, out, m, u, r, c));
}
int MPI_Scatter(const void* in, int n, MPI_Datatype t, void* out, int m, MPI_Datatype u, int r,
                MPI_Comm c) {
  WITH_DEVICE(MPI_Scatter(in, n, t, out, m, u, r, c));
}
int MPI_Sendrecv(const void* in, int n, MPI_Datatype t, int to, int tag, void* out, int m,
                 MPI_Datatype u, int from, int other, MPI_Comm c, MPI_Status* status) {
  WITH_DEVICE(MPI_Sendrecv(in, n, t, to, tag, out, m, u, from, other, c, status));
}
