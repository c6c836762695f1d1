/* A long series of mixed collectives, back to back, each result checked; knows nothing of
 * latecomer.
 *
 *     mpicc -pthread soak.c -o soak
 *     mpirun -n 4 ./soak CALLS SEED [threads]     ends after CALLS calls on each rank
 *
 * All ranks draw the same series: which collective on which communicator, how many elements, of
 * which type, which root, in place or not. Communicators: the world, a duplicate, the ranks in
 * reverse order, halves, and one that is freed and made anew every 500 calls. Now and then a rank
 * sleeps for a time that it draws alone, a message goes round, or all ranks meet in a barrier.
 * Values are small whole numbers, so that sums are exact in any order and type.
 *
 * With `threads`, two threads of each rank make the series at once, on communicators of their own.
 * Rank 0 prints the calls, the mistakes and the seconds. Exits 1 if there was a mistake. */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most = 1 << 17, kept = 4, comms = 5, life = 500, types = 4, shown = 5 };

struct where {
  MPI_Comm comm;
  int rank, ranks;
};

struct series {
  uint64_t common, own; /* states of the generators: the same on all ranks, and this rank's */
  long calls, mistakes;
  MPI_Comm world;
  struct where at[comms];
  char *mine, *result;
  int* places; /* counts and displacements of all-gathers */
};

static const char* const names[] = {"allreduce",  "reduce", "bcast",  "allgather",
                                    "allgatherv", "gather", "scatter"};
static long wanted;
static uint64_t seed;

static unsigned drawn(uint64_t* state, unsigned below) { /* splitmix64 */
  uint64_t x = *state += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return (unsigned)((x ^ (x >> 31)) % below);
}

static MPI_Datatype type_of(int type) {
  switch (type) {
    case 0:
      return MPI_INT;
    case 1:
      return MPI_DOUBLE;
    case 2:
      return MPI_FLOAT;
    default:
      return MPI_LONG;
  }
}

static void put(char* buffer, int type, size_t i, long value) {
  switch (type) {
    case 0:
      ((int*)buffer)[i] = (int)value;
      break;
    case 1:
      ((double*)buffer)[i] = (double)value;
      break;
    case 2:
      ((float*)buffer)[i] = (float)value;
      break;
    default:
      ((long*)buffer)[i] = value;
      break;
  }
}

static long get(const char* buffer, int type, size_t i) {
  switch (type) {
    case 0:
      return ((const int*)buffer)[i];
    case 1:
      return (long)((const double*)buffer)[i];
    case 2:
      return (long)((const float*)buffer)[i];
    default:
      return ((const long*)buffer)[i];
  }
}

/* The i-th element that a rank gives in a call: (rank + 1) * slope + salt. */
static long slope(size_t i, long salt) { return (long)((i * 7 + (size_t)salt) % 11); }
static long given(int rank, size_t i, long salt) { return (rank + 1) * slope(i, salt) + salt; }

static void wrong(struct series* all, const char* name, int count, size_t i, long is, long right) {
  if (++all->mistakes > shown) return;
  fprintf(stderr, "call %ld, %s of %d: element %zu is %ld; right would be %ld\n", all->calls, name,
          count, i, is, right);
}

/* Checks `count` elements from `first` on that rank `of` gave. */
static void check_moved(struct series* all, const char* name, int type, int of, size_t first,
                        size_t from, int count, long salt) {
  for (int i = 0; i < count; ++i) {
    const long is = get(all->result, type, first + (size_t)i);
    const long right = given(of, from + (size_t)i, salt);
    if (is != right) return wrong(all, name, count, first + (size_t)i, is, right);
  }
}

static void check_reduced(struct series* all, const char* name, const struct where* at, int type,
                          int largest, int count, long salt) {
  const long n = at->ranks;
  for (int i = 0; i < count; ++i) {
    const long s = slope((size_t)i, salt);
    const long right = largest ? n * s + salt : n * (n + 1) / 2 * s + n * salt;
    const long is = get(all->result, type, (size_t)i);
    if (is != right) return wrong(all, name, count, (size_t)i, is, right);
  }
}

/* Mostly few elements, and seldom as many as fit; the same on all ranks. */
static int draw_count(struct series* all) {
  const unsigned kind = drawn(&all->common, 100);
  if (kind < 55) return (int)drawn(&all->common, 33);
  if (kind < 85) return (int)drawn(&all->common, 1025);
  if (kind < 99) return (int)drawn(&all->common, 8193);
  return (int)drawn(&all->common, most + 1);
}

static void fill(char* buffer, int type, size_t first, int rank, size_t from, int count,
                 long salt) {
  for (int i = 0; i < count; ++i) {
    put(buffer, type, first + (size_t)i, given(rank, from + (size_t)i, salt));
  }
}

static void reduction(struct series* all, const struct where* at, int rooted, int count, int type,
                      long salt) {
  const int largest = drawn(&all->common, 4) == 0;
  const int in_place = drawn(&all->common, 3) == 0;
  const int root = (int)drawn(&all->common, (unsigned)at->ranks);
  const MPI_Op op = largest ? MPI_MAX : MPI_SUM;
  const int receives = !rooted || at->rank == root;
  char* const from = in_place && receives ? all->result : all->mine;
  fill(from, type, 0, at->rank, 0, count, salt);
  const void* const mine = from == all->result ? MPI_IN_PLACE : from;
  if (rooted) {
    MPI_Reduce(mine, all->result, count, type_of(type), op, root, at->comm);
  } else {
    MPI_Allreduce(mine, all->result, count, type_of(type), op, at->comm);
  }
  if (receives) check_reduced(all, names[rooted], at, type, largest, count, salt);
}

static void broadcast(struct series* all, const struct where* at, int count, int type, long salt) {
  const int root = (int)drawn(&all->common, (unsigned)at->ranks);
  fill(all->result, type, 0, at->rank, 0, count, at->rank == root ? salt : salt + 1);
  MPI_Bcast(all->result, count, type_of(type), root, at->comm);
  check_moved(all, "bcast", type, root, 0, 0, count, salt);
}

static void all_gathering(struct series* all, const struct where* at, int count, int type,
                          long salt) {
  const int in_place = drawn(&all->common, 3) == 0;
  const size_t first = (size_t)at->rank * (size_t)count;
  fill(in_place ? all->result : all->mine, type, in_place ? first : 0, at->rank, 0, count, salt);
  MPI_Allgather(in_place ? MPI_IN_PLACE : all->mine, count, type_of(type), all->result, count,
                type_of(type), at->comm);
  for (int of = 0; of < at->ranks; ++of) {
    check_moved(all, "allgather", type, of, (size_t)of * (size_t)count, 0, count, salt);
  }
}

/* Rank r gives r mod 3 times as much as rank 1, with gaps of one element. */
static void unequal_all_gathering(struct series* all, const struct where* at, int count, int type,
                                  long salt) {
  int* const counts = all->places;
  int* const displacements = counts + at->ranks;
  int end = 0;
  for (int of = 0; of < at->ranks; ++of) {
    counts[of] = of % 3 * count;
    displacements[of] = end;
    end += counts[of] + 1;
  }
  fill(all->mine, type, 0, at->rank, 0, counts[at->rank], salt);
  MPI_Allgatherv(all->mine, counts[at->rank], type_of(type), all->result, counts, displacements,
                 type_of(type), at->comm);
  for (int of = 0; of < at->ranks; ++of) {
    check_moved(all, "allgatherv", type, of, (size_t)displacements[of], 0, counts[of], salt);
  }
}

static void gathering(struct series* all, const struct where* at, int count, int type, long salt) {
  const int root = (int)drawn(&all->common, (unsigned)at->ranks);
  fill(all->mine, type, 0, at->rank, 0, count, salt);
  MPI_Gather(all->mine, count, type_of(type), all->result, count, type_of(type), root, at->comm);
  for (int of = 0; at->rank == root && of < at->ranks; ++of) {
    check_moved(all, "gather", type, of, (size_t)of * (size_t)count, 0, count, salt);
  }
}

static void scattering(struct series* all, const struct where* at, int count, int type, long salt) {
  const int root = (int)drawn(&all->common, (unsigned)at->ranks);
  if (at->rank == root) fill(all->mine, type, 0, root, 0, count * at->ranks, salt);
  MPI_Scatter(all->mine, count, type_of(type), all->result, count, type_of(type), root, at->comm);
  check_moved(all, "scatter", type, root, 0, (size_t)at->rank * (size_t)count, count, salt);
}

static void pass_round(const struct where* at, struct series* all) {
  long word = at->rank, from = -1;
  MPI_Sendrecv(&word, 1, MPI_LONG, (at->rank + 1) % at->ranks, 3, &from, 1, MPI_LONG,
               (at->rank + at->ranks - 1) % at->ranks, 3, at->comm, MPI_STATUS_IGNORE);
  if (from != (at->rank + at->ranks - 1) % at->ranks) {
    wrong(all, "message", 1, 0, from, (at->rank + at->ranks - 1) % at->ranks);
  }
}

static void one_call(struct series* all) {
  const struct where* const at = &all->at[drawn(&all->common, comms)];
  const int type = (int)drawn(&all->common, types);
  const long salt = (long)drawn(&all->common, 1000);
  const int count = draw_count(all);
  const int part = count / at->ranks; /* so that all parts fit */
  if (drawn(&all->own, 2000) == 0) {
    const struct timespec time = {0, (long)drawn(&all->own, 3000000)};
    nanosleep(&time, NULL);
  }
  switch (drawn(&all->common, 12)) {
    case 0:
    case 1:
    case 2:
    case 3:
      reduction(all, at, 0, count, type, salt);
      break;
    case 4:
      reduction(all, at, 1, count, type, salt);
      break;
    case 5:
    case 6:
      broadcast(all, at, count, type, salt);
      break;
    case 7:
      all_gathering(all, at, part, type, salt);
      break;
    case 8:
      unequal_all_gathering(all, at, part / 2, type, salt);
      break;
    case 9:
      gathering(all, at, part, type, salt);
      break;
    case 10:
      scattering(all, at, part, type, salt);
      break;
    default:
      pass_round(at, all);
      break;
  }
  if (drawn(&all->common, 1000) == 0) MPI_Barrier(at->comm);
  ++all->calls;
}

static void keep(struct where* at, MPI_Comm comm) {
  at->comm = comm;
  MPI_Comm_rank(comm, &at->rank);
  MPI_Comm_size(comm, &at->ranks);
}

static void* series(void* argument) {
  struct series* const all = argument;
  struct where world;
  MPI_Comm made = MPI_COMM_NULL;
  keep(&world, all->world);
  const size_t room = 8 * ((size_t)most + 2 * (size_t)world.ranks);
  all->mine = malloc(room);
  all->result = malloc(room);
  all->places = malloc(2 * sizeof(int) * (size_t)world.ranks);
  all->own = all->common * 4096 + (uint64_t)world.rank;
  all->at[0] = world;
  MPI_Comm_dup(all->world, &made);
  keep(&all->at[1], made);
  MPI_Comm_split(all->world, 0, -world.rank, &made);
  keep(&all->at[2], made);
  MPI_Comm_split(all->world, world.rank % 2, world.rank, &made);
  keep(&all->at[3], made);
  for (long left = wanted; left > 0;) {
    MPI_Comm_dup(all->at[drawn(&all->common, kept)].comm, &made);
    keep(&all->at[4], made);
    for (int i = 0; i < life && left > 0; ++i, --left) one_call(all);
    MPI_Comm_free(&made);
  }
  for (int i = 1; i < kept; ++i) MPI_Comm_free(&all->at[i].comm);
  free(all->mine);
  free(all->result);
  free(all->places);
  return NULL;
}

int main(int argc, char** argv) {
  struct series all[2];
  pthread_t other;
  int level = 0, rank = 0;
  const int threads = argc > 3 && strcmp(argv[3], "threads") == 0 ? 2 : 1;
  wanted = argc > 1 ? atol(argv[1]) : 10000;
  seed = argc > 2 ? (uint64_t)atol(argv[2]) : 1;
  MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (threads > 1 && level < MPI_THREAD_MULTIPLE) {
    fprintf(stderr, "this MPI library has no MPI_THREAD_MULTIPLE\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  memset(all, 0, sizeof all);
  for (int i = 0; i < threads; ++i) {
    all[i].common = seed * 1000003 + (uint64_t)i;
    MPI_Comm_dup(MPI_COMM_WORLD, &all[i].world);
  }
  const double begin = MPI_Wtime();
  if (threads > 1) pthread_create(&other, NULL, series, &all[1]);
  series(&all[0]);
  if (threads > 1) pthread_join(other, NULL);
  long sums[2] = {all[0].calls + all[1].calls, all[0].mistakes + all[1].mistakes};
  MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%ld calls, %ld mistakes, %.1f s\n", sums[0], sums[1], MPI_Wtime() - begin);
  }
  for (int i = 0; i < threads; ++i) MPI_Comm_free(&all[i].world);
  MPI_Finalize();
  return sums[1] != 0;
}
