/* Lateness that is handed on: mpirun -n N late FORM STEPS RANK. In each step the rank sleeps for
 * 60 ms and the others for 2 ms. FORM: wavefront (each rank waits for the edge of the one before),
 * halo (both neighbours exchange edges), started (a collective that MPI_Wait completes) or
 * overlapped (the rank computes before that). Others are a wavefront, too, whose ranks wait by
 * tests, with or without naps between them, probes or iprobes, between groups or by windows;
 * collectives on a window or a file; and a halo by a collective among neighbours. */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EDGE = 4096 };
static double edge[EDGE], before[EDGE], after[EDGE], part[512], sum[512];
static int rank, ranks;

static void compute(int slow) {
  const struct timespec time = {0, (rank == slow ? 60 : 2) * 1000000L};
  nanosleep(&time, NULL);
}

static void receive(void) {
  MPI_Recv(before, EDGE, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void test(void) {
  MPI_Request request;
  MPI_Irecv(before, EDGE, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, &request);
  for (int done = 0; !done; sched_yield()) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}
static void nap(void) {
  const struct timespec time = {0, 200000};
  MPI_Request request;
  MPI_Irecv(before, EDGE, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, &request);
  for (int done = 0; !done; nanosleep(&time, NULL)) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}
static void probe(void) {
  MPI_Probe(rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  receive();
}
static void iprobe(void) {
  for (int there = 0; !there; sched_yield()) {
    MPI_Iprobe(rank - 1, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
  }
  receive();
}
static void (*receive_edge)(void) = receive;

static void wavefront(int slow) {
  if (rank > 0) receive_edge();
  compute(slow);
  if (rank < ranks - 1) MPI_Send(edge, EDGE, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
  MPI_Allreduce(part, sum, 512, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* Rank 0 is one group, the others are the other one. */
static void groups(int slow) {
  static MPI_Comm own, both = MPI_COMM_NULL;
  if (both == MPI_COMM_NULL) {
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &own);
    MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, rank > 0 ? 0 : 1, 9, &both);
  }
  if (rank == 1) MPI_Recv(before, EDGE, MPI_DOUBLE, 0, 0, both, MPI_STATUS_IGNORE);
  if (rank > 1) receive();
  compute(slow);
  if (rank == 0) MPI_Send(edge, EDGE, MPI_DOUBLE, 0, 0, both);
  if (rank > 0 && rank < ranks - 1) {
    MPI_Send(edge, EDGE, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
  }
  MPI_Allreduce(part, sum, 512, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static MPI_Win window = MPI_WIN_NULL;

static void windows(int slow) {
  MPI_Group all, low, high;
  const int lower = rank - 1, higher = rank + 1;
  if (window == MPI_WIN_NULL) {
    MPI_Win_create(before, sizeof before, sizeof *before, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  }
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  if (rank > 0) {
    MPI_Group_incl(all, 1, &lower, &low);
    MPI_Win_post(low, 0, window);
    MPI_Win_wait(window);
    MPI_Group_free(&low);
  }
  compute(slow);
  if (rank < ranks - 1) {
    MPI_Group_incl(all, 1, &higher, &high);
    MPI_Win_start(high, 0, window);
    MPI_Put(edge, 64, MPI_DOUBLE, higher, 0, 64, MPI_DOUBLE, window);
    MPI_Win_complete(window);
    MPI_Group_free(&high);
  }
  MPI_Group_free(&all);
  MPI_Allreduce(part, sum, 512, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void fences(int slow) {
  if (window == MPI_WIN_NULL) {
    MPI_Win_allocate(sizeof before, sizeof *before, MPI_INFO_NULL, MPI_COMM_WORLD, &(double*){0},
                     &window);
  }
  MPI_Win_fence(0, window);
  MPI_Put(edge, 64, MPI_DOUBLE, (rank + 1) % ranks, 0, 64, MPI_DOUBLE, window);
  compute(slow);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
}

static MPI_File file = MPI_FILE_NULL;

static void files(int slow) {
  char name[64] = "late.out";
  if (file == MPI_FILE_NULL) {
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  }
  compute(slow);
  MPI_File_write_at_all(file, 512 * rank, edge, 64, MPI_DOUBLE, MPI_STATUS_IGNORE);
}

static MPI_Comm ring = MPI_COMM_NULL;

static void make_ring(void) {
  const int periodic = 1;
  if (ring == MPI_COMM_NULL) MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
}
static void neighbours(int slow) {
  static double in[2 * EDGE], out[2 * EDGE];
  make_ring();
  compute(slow);
  MPI_Neighbor_alltoall(out, EDGE, MPI_DOUBLE, in, EDGE, MPI_DOUBLE, ring);
}
static void neighbours_later(int slow) {
  static double in[2 * EDGE], out[EDGE];
  MPI_Request request;
  make_ring();
  compute(slow);
  MPI_Ineighbor_allgather(out, EDGE, MPI_DOUBLE, in, EDGE, MPI_DOUBLE, ring, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void halo(int slow) {
  MPI_Request all[4];
  const int low = (rank + ranks - 1) % ranks, high = (rank + 1) % ranks;
  compute(slow);
  MPI_Irecv(before, EDGE, MPI_DOUBLE, low, 0, MPI_COMM_WORLD, &all[0]);
  MPI_Irecv(after, EDGE, MPI_DOUBLE, high, 1, MPI_COMM_WORLD, &all[1]);
  MPI_Isend(edge, EDGE, MPI_DOUBLE, high, 0, MPI_COMM_WORLD, &all[2]);
  MPI_Isend(edge, EDGE, MPI_DOUBLE, low, 1, MPI_COMM_WORLD, &all[3]);
  MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
}

static void started(int slow) {
  MPI_Request request;
  compute(slow);
  MPI_Iallreduce(part, sum, 512, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void overlapped(int slow) {
  MPI_Request request;
  MPI_Iallreduce(part, sum, 512, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  compute(slow);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4) {
    if (rank == 0) fprintf(stderr, "usage: late FORM STEPS RANK\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const struct {
    const char* name;
    void (*step)(int);
    void (*receive)(void);
  } forms[] = {{"wavefront", wavefront, receive},
               {"halo", halo, receive},
               {"started", started, receive},
               {"tests", wavefront, test},
               {"naps", wavefront, nap},
               {"overlapped", overlapped, receive},
               {"probes", wavefront, probe},
               {"iprobes", wavefront, iprobe},
               {"groups", groups, receive},
               {"windows", windows, receive},
               {"fences", fences, receive},
               {"files", files, receive},
               {"neighbours", neighbours, receive},
               {"neighbours_later", neighbours_later, receive}};
  void (*step)(int) = NULL;
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    if (strcmp(argv[1], forms[i].name) != 0) continue;
    step = forms[i].step;
    receive_edge = forms[i].receive;
  }
  if (step == NULL) {
    if (rank == 0) fprintf(stderr, "FORM: '%s' is unknown: late.c has a list\n", argv[1]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (int i = 0; i < atoi(argv[2]); i++) step(atoi(argv[3]));
  MPI_Barrier(MPI_COMM_WORLD);
  if (window != MPI_WIN_NULL) MPI_Win_free(&window);
  if (file != MPI_FILE_NULL) MPI_File_close(&file);
  return MPI_Finalize();
}
