/* Communicators, errors, threads, processes: what lives beside the calls. */
#define _GNU_SOURCE
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"

enum { count = 1000 };

/* Open MPI 5 has persistent collectives, but no large counts. */
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define HAS_PERSISTENT 1
#else
#define HAS_PERSISTENT 0
#endif

static int check_sum(struct where at, MPI_Comm comm, int salt) {
  int mistakes = 0;
  int in[count], ours[count], theirs[count];
  for (int i = 0; i < count; ++i) in[i] = i + at.rank * salt;
  WRONG_IF(MPI_Allreduce(in, ours, count, MPI_INT, MPI_SUM, comm) != MPI_SUCCESS);
  LIBRARY(Allreduce)(in, theirs, count, MPI_INT, MPI_SUM, comm);
  WRONG_IF(memcmp(ours, theirs, sizeof ours) != 0);
  return mistakes;
}

static int communicators(struct where at) {
  int mistakes = 0;
  for (int i = 0; i < 10000; ++i) {
    MPI_Comm comm = MPI_COMM_NULL;
    if (i % 2 == 0) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (i % 2 != 0) MPI_Comm_split(MPI_COMM_WORLD, at.rank % 2, -at.rank, &comm);
    if (i % 100 < 4) mistakes += check_sum(at, comm, i);
    MPI_Comm_free(&comm);
    WRONG_IF(comm != MPI_COMM_NULL);
  }
  return mistakes;
}

/* Rank 1 comes late to each call. */
static int one_late(struct where at) {
  int mistakes = 0;
  for (int i = 0; i < 40; ++i) {
    if (at.rank == 1) usleep(10000);
    mistakes += check_sum(at, MPI_COMM_WORLD, i);
  }
  return mistakes;
}

/* Calls that are long enough for an automatic choice, and so many that it learns from them. */
static int long_sums_on(struct where at, MPI_Comm comm) {
  enum { many = 1 << 19 };
  int mistakes = 0;
  int* const values = malloc(2 * many * sizeof *values);
  int* const sums = values + many;
  for (int i = 0; i < many; ++i) values[i] = at.rank + i % 7;
  for (int call = 0; call < 40; ++call) {
    MPI_Allreduce(values, sums, many, MPI_INT, MPI_SUM, comm);
    WRONG_IF(sums[many - 1] != at.ranks * (at.ranks - 1) / 2 + at.ranks * ((many - 1) % 7));
  }
  free(values);
  return mistakes;
}

static int long_sums(struct where at) { return long_sums_on(at, MPI_COMM_WORLD); }

static int long_sums_freed(struct where at) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const int mistakes = long_sums_on(at, comm);
  MPI_Comm_free(&comm);
  return mistakes;
}

/* Ranks free communicators in different orders: freeing waits for nobody. */
static int freed_in_any_order(struct where at) {
  int mistakes = 0;
  for (int i = 0; i < 50; ++i) {
    MPI_Comm comms[2];
    for (int k = 0; k < 2; ++k) {
      MPI_Comm_dup(MPI_COMM_WORLD, &comms[k]);
      for (int call = 0; call < 4; ++call) mistakes += check_sum(at, comms[k], call);
    }
    MPI_Comm_free(&comms[at.rank % 2]);
    MPI_Comm_free(&comms[1 - at.rank % 2]);
  }
  return mistakes;
}

static int deleted_calls;

static int delete_with_a_call(MPI_Comm comm, int keyval, void* value, void* extra) {
  struct where at;
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0;
  (void)keyval;
  (void)value;
  PMPI_Comm_rank(comm, &at.rank);
  PMPI_Comm_size(comm, &at.ranks);
  deleted_calls += 1 + 1000 * check_sum(at, comm, 3);
  PMPI_Comm_get_name(comm, name, &length);
  if (extra != NULL && strcmp(name, extra) != 0) deleted_calls += 1000;
  return MPI_SUCCESS;
}

/* A program's own attribute may make a last call on a communicator that is being freed, and sees
 * the name that the program gave it. */
static int attributes(struct where at) {
  int mistakes = 0;
  int keyval = MPI_KEYVAL_INVALID;
  static char its_name[] = "grid";
  deleted_calls = 0;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_with_a_call, &keyval, its_name);
  for (int i = 0; i < 40; ++i) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (i % 2 == 0) mistakes += check_sum(at, comm, i);
    MPI_Comm_set_attr(comm, keyval, NULL);
    if (i % 4 != 0) mistakes += check_sum(at, comm, i);
    MPI_Comm_set_name(comm, its_name);
    MPI_Comm_free(&comm);
  }
  MPI_Comm_free_keyval(&keyval);
  WRONG_IF(deleted_calls != 40);
  return mistakes;
}

static int intercommunicators(struct where at) {
  int mistakes = 0;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm inter = MPI_COMM_NULL;
  const int side = at.rank % 2;
  if (at.ranks < 2) return 0;
  MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 9, &inter);
  for (int call = 0; call < 20; ++call) mistakes += check_sum(at, inter, call);
  MPI_Barrier(inter);
  int word = side == 0 ? 4711 : 0;
  const int root = side != 0 ? 0 : at.rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  MPI_Bcast(&word, 1, MPI_INT, root, inter);
  WRONG_IF(word != 4711);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
  return mistakes;
}

/* Communicators of a request, and of two groups that became one: all ranks know them alike, in
 * whichever order they use them first. */
static int made_apart(struct where at) {
  int mistakes = 0;
  MPI_Comm made[4], both;
  MPI_Request requests[2];
  MPI_Comm half = MPI_COMM_NULL;
  const int side = at.rank % 2;
  if (at.ranks < 2) return 0;
  MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half);
  MPI_Comm_idup(MPI_COMM_WORLD, &made[0], &requests[0]);
  MPI_Comm_idup(MPI_COMM_WORLD, &made[1], &requests[1]);
  /* MPICH 5.0.2 hangs now and then if another communicator is made before they are done. */
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 2; i < 4; ++i) {
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 9, &both);
    MPI_Intercomm_merge(both, 1 - side, &made[i]);
    MPI_Comm_free(&both);
  }
  for (int call = 0; call < 20; ++call) {
    for (int i = 0; i < 4; ++i) mistakes += check_sum(at, made[i], call);
  }
  for (int i = 0; i < 4; ++i) MPI_Comm_free(&made[i]);
  MPI_Comm_free(&half);
  return mistakes;
}

/* Communicators with a topology are others' equals; collectives among neighbours are the MPI
 * library's. */
static int topologies(struct where at) {
  int mistakes = 0;
  int in[count], ours[2 * count], theirs[2 * count];
  const int cyclic = 1;
  const int before = (at.rank + at.ranks - 1) % at.ranks;
  const int next = (at.rank + 1) % at.ranks;
  MPI_Comm rings[2];
  MPI_Cart_create(MPI_COMM_WORLD, 1, &at.ranks, &cyclic, 0, &rings[0]);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, &cyclic, 1, &next, &cyclic,
                                 MPI_INFO_NULL, 0, &rings[1]);
  for (int call = 0; call < 20; ++call) {
    const MPI_Comm ring = rings[call % 2];
    for (int i = 0; i < count; ++i) in[i] = i + at.rank * call;
    memset(ours, 0, sizeof ours);
    memset(theirs, 0, sizeof theirs);
    mistakes += check_sum(at, ring, call);
    MPI_Neighbor_allgather(in, count, MPI_INT, ours, count, MPI_INT, ring);
    PMPI_Neighbor_allgather(in, count, MPI_INT, theirs, count, MPI_INT, ring);
    WRONG_IF(memcmp(ours, theirs, sizeof ours) != 0);
  }
  MPI_Comm_free(&rings[0]);
  MPI_Comm_free(&rings[1]);
  return mistakes;
}

static int handled_errors;
static int last_class;

static void handle(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  ++handled_errors;
  MPI_Error_class(*code, &last_class);
}

typedef int (*reduction)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);

/* Wrong calls, by number. MPICH 5 ends the program in those from 5 on. */
#ifdef OMPI_MAJOR_VERSION
enum { wrong_calls = 10 };
#else
enum { wrong_calls = 5 };
#endif

static void call_wrongly(int which, int own, struct where at, MPI_Comm comm) {
  static int in[count], out[count];
  static double numbers[count];
  const reduction allreduce = own ? LIBRARY(Allreduce) : MPI_Allreduce;
  switch (which) {
    case 0:
      (void)allreduce(in, in, count, MPI_INT, MPI_SUM, comm);
      return;
    case 1:
      (void)allreduce(in, out, count, MPI_INT, MPI_OP_NULL, comm);
      return;
    case 2:
      (void)(own ? LIBRARY(Bcast) : MPI_Bcast)(in, count, MPI_INT, at.ranks, comm);
      return;
    case 3:
      (void)(own ? LIBRARY(Reduce) : MPI_Reduce)(in, out, count, MPI_INT, MPI_SUM, -7, comm);
      return;
    case 4:
      (void)allreduce(in, MPI_IN_PLACE, count, MPI_INT, MPI_SUM, comm);
      return;
    case 5:
      (void)allreduce(in, out, -1, MPI_INT, MPI_SUM, comm);
      return;
    case 6:
      (void)(own ? LIBRARY(Bcast) : MPI_Bcast)(in, -1, MPI_INT, 0, comm);
      return;
    case 7:
      (void)allreduce(in, out, count, MPI_DATATYPE_NULL, MPI_SUM, comm);
      return;
    case 8:
      (void)allreduce(numbers, out, count / 2, MPI_DOUBLE, MPI_BAND, comm);
      return;
    default: {
      MPI_Datatype pairs = MPI_DATATYPE_NULL;
      MPI_Type_contiguous(2, MPI_INT, &pairs);
      MPI_Type_commit(&pairs);
      (void)allreduce(in, out, count / 2, pairs, MPI_SUM, comm);
      MPI_Type_free(&pairs);
    }
  }
}

/* Wrong arguments on all ranks: the same class, and one call of the program's handler. */
static int errors(struct where at) {
  int mistakes = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  /* Open MPI 4.1 reports some errors to that of MPI_COMM_WORLD. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  for (int which = 0; which < wrong_calls; ++which) {
    int classes[2];
    for (int own = 0; own < 2; ++own) {
      handled_errors = 0;
      last_class = -1;
      call_wrongly(which, own, at, comm);
      WRONG_IF(handled_errors != 1);
      classes[own] = last_class;
    }
    WRONG_IF(classes[0] != classes[1]);
    mistakes += check_sum(at, comm, which);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
  return mistakes;
}

/* MPICH and its relatives notice handles of freed communicators. The program's handler is called
 * once, by the function that the program called. */
#ifndef OMPI_MAJOR_VERSION
static char last_text[MPI_MAX_ERROR_STRING];

static void keep_text(MPI_Comm* comm, int* code, ...) {
  int length = 0;
  handle(comm, code);
  MPI_Error_string(*code, last_text, &length);
}

static int names(const char* function) {
  const int right = handled_errors == 1 && strstr(last_text, function) != NULL;
  if (!right) fprintf(stderr, "%d errors, the last is: %s\n", handled_errors, last_text);
  handled_errors = 0;
  return right;
}

static int freed_handles(struct where at) {
  static int in[count], out[count];
  int mistakes = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  mistakes += check_sum(at, made, 1);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  mistakes += check_sum(at, comm, 1);
  const MPI_Comm freed = comm;
  MPI_Comm_free(&comm);
  MPI_Comm_create_errhandler(keep_text, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  handled_errors = 0;
  MPI_Barrier(freed);
  WRONG_IF(!names("MPI_Barrier("));
  MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, freed);
  WRONG_IF(!names("MPI_Allreduce("));
  MPI_Bcast(in, count, MPI_INT, 0, freed);
  WRONG_IF(!names("MPI_Bcast("));
  MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, 0, freed);
  WRONG_IF(!names("MPI_Gather("));
  MPI_Scatter(in, count, MPI_INT, out, count, MPI_INT, 0, freed);
  WRONG_IF(!names("MPI_Scatter("));
  MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, freed);
  WRONG_IF(!names("MPI_Allgather("));
  MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, -2, freed);
  WRONG_IF(!names("MPI_Reduce("));
  MPI_Scan(in, out, 1, MPI_INT, MPI_SUM, freed);
  WRONG_IF(!names("MPI_Scan("));
  MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, freed);
  WRONG_IF(!names("MPI_Alltoall("));
  const MPI_Comm duplicate = made;
  MPI_Comm_dup(freed, &made);
  WRONG_IF(!names("MPI_Comm_dup("));
  made = duplicate;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
  mistakes += check_sum(at, made, 3);
  MPI_Comm_free(&made);
  return mistakes + check_sum(at, MPI_COMM_WORLD, 2);
}
#endif

struct worker {
  struct where at;
  MPI_Comm comm;
  int mistakes;
  int order;
};

static void* work(void* of) {
  struct worker* const me = of;
  for (int call = 0; call < 200; ++call) me->mistakes += check_sum(me->at, me->comm, call);
  return NULL;
}

static int threads(struct where at) {
  int mistakes = 0;
  int level = MPI_THREAD_SINGLE;
  struct worker workers[3];
  pthread_t ids[3];
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_MULTIPLE) return 0;
  for (int i = 0; i < 3; ++i) {
    workers[i].at = at;
    workers[i].mistakes = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
  }
  for (int i = 0; i < 3; ++i) pthread_create(&ids[i], NULL, work, &workers[i]);
  for (int i = 0; i < 3; ++i) {
    pthread_join(ids[i], NULL);
    mistakes += workers[i].mistakes;
    MPI_Comm_free(&workers[i].comm);
  }
  return mistakes;
}

/* As many threads as communicators, each in another order on each rank: they use them first, and
 * free them, at the same time. */
enum { many = 8 };

static void* use_and_free(void* of) {
  struct worker* const me = of;
  usleep((useconds_t)(me->at.rank * 7919 + me->order * 104729) % 3000);
  for (int call = 0; call < 40; ++call) me->mistakes += check_sum(me->at, me->comm, call);
  MPI_Comm_free(&me->comm);
  return NULL;
}

static int many_threads(struct where at) {
  int mistakes = 0;
  int level = MPI_THREAD_SINGLE;
  struct worker workers[many];
  pthread_t ids[many];
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_MULTIPLE) return 0;
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < many; ++i) {
      workers[i].at = at;
      workers[i].mistakes = 0;
      workers[i].order = (i * (at.rank + 3) + round) % many;
      MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    }
    for (int i = 0; i < many; ++i) {
      const int which = (i + at.rank * 3) % many;
      pthread_create(&ids[which], NULL, use_and_free, &workers[which]);
    }
    for (int i = 0; i < many; ++i) {
      pthread_join(ids[i], NULL);
      mistakes += workers[i].mistakes;
    }
  }
  return mistakes;
}

/* Children inherit the preload, and know nothing of MPI. */
static int children(struct where at) {
  int mistakes = 0;
  mistakes += check_sum(at, MPI_COMM_WORLD, 1);
  WRONG_IF(system("true") != 0);
  const pid_t child = fork();
  if (child == 0) _exit(7);
  int status = 0;
  waitpid(child, &status, 0);
  WRONG_IF(!WIFEXITED(status) || WEXITSTATUS(status) != 7);
  mistakes += check_sum(at, MPI_COMM_WORLD, 2);
  return mistakes;
}

/* The root runs ahead through a broadcast's short and long pieces, and its last reader is slow. */
static int pipeline(struct where at) {
  int mistakes = 0;
  int word = 0;
  char piece[2000];
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int i = 0; i < 40; ++i) {
    memset(piece, at.rank == 0 ? i : -1, sizeof piece);
    MPI_Bcast(piece, sizeof piece, MPI_CHAR, 0, comm);
    WRONG_IF(piece[0] != i || piece[sizeof piece - 1] != i);
  }
  /* Unsafe, but with both libraries it works: a root that sends between two broadcasts. */
  if (at.ranks > 1) {
    MPI_Bcast(piece, 100, MPI_CHAR, 0, comm);
    if (at.rank == 0) MPI_Send(&word, 1, MPI_INT, 1, 5, comm);
    if (at.rank == 1) MPI_Recv(&word, 1, MPI_INT, 0, 5, comm, MPI_STATUS_IGNORE);
    MPI_Bcast(piece, 100, MPI_CHAR, 0, comm);
  }
  MPI_Comm_free(&comm);
  return mistakes;
}

static int handles_again(struct where at) {
  int mistakes = 0;
  MPI_Comm comms[40];
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 40; ++i) {
      /* Handles come again, for other ranks and other sizes. */
      MPI_Comm_split(MPI_COMM_WORLD, (at.rank + round) % 2, (i % 3) * at.rank, &comms[i]);
      for (int call = 0; call < 3; ++call) mistakes += check_sum(at, comms[i], call);
    }
    for (int i = 0; i < 40; ++i) MPI_Comm_free(&comms[(i * 7 + 3) % 40]);
  }
  return mistakes;
}

/* Rank 0 receives a message between begin and end of its part, which rank 1 sends after its own
 * end: MPI promises that the operation ends while rank 0 is in MPI_Recv. */
static int receive_between(struct where at, MPI_Request* request) {
  int word = 0;
  if (at.rank == 1) {
    MPI_Wait(request, MPI_STATUS_IGNORE);
    MPI_Send(&word, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    return 0;
  }
  if (at.rank == 0) MPI_Recv(&word, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return MPI_Wait(request, MPI_STATUS_IGNORE) != MPI_SUCCESS;
}

/* Non-blocking and persistent collectives, in one array of requests with messages. */
static int nonblocking(struct where at) {
  int mistakes = 0;
  int in[count], ours[count], theirs[count], rows[2][count];
  MPI_Request requests[4];
  const int next = (at.rank + 1) % at.ranks;
  const int before = (at.rank + at.ranks - 1) % at.ranks;
  for (int i = 0; i < count; ++i) in[i] = i + at.rank;
  LIBRARY(Allreduce)(in, theirs, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int call = 0; call < 10; ++call) {
    memset(ours, 0, sizeof ours);
    memcpy(rows[1], in, sizeof in);
    MPI_Iallreduce(in, ours, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(rows[0], count, MPI_INT, before, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(in, count, MPI_INT, next, 3, MPI_COMM_WORLD, &requests[2]);
    MPI_Ibcast(rows[1], count, MPI_INT, call % at.ranks, MPI_COMM_WORLD, &requests[3]);
    mistakes += check_sum(at, MPI_COMM_WORLD, call);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    WRONG_IF(memcmp(ours, theirs, sizeof ours) != 0);
    WRONG_IF(rows[0][1] != 1 + before || rows[1][1] != 1 + call % at.ranks);
    if (at.ranks < 2) continue;
    MPI_Iallreduce(in, ours, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    mistakes += receive_between(at, &requests[0]);
  }
  return mistakes;
}

#if HAS_PERSISTENT
static int persistent(struct where at) {
  int mistakes = 0;
  int in[count] = {0}, ours[count], theirs[count];
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Allreduce_init(in, ours, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int call = 0; call < 10; ++call) {
    for (int i = 0; i < count; ++i) in[i] = i + at.rank * call;
    LIBRARY(Allreduce)(in, theirs, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Start(&request);
    if (at.ranks > 1 && call % 2 == 0) mistakes += receive_between(at, &request);
    mistakes += check_sum(at, MPI_COMM_WORLD, call);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    WRONG_IF(memcmp(ours, theirs, sizeof ours) != 0);
  }
  MPI_Request_free(&request);
  return mistakes;
}
#endif

/* Programs ask by the address what their MPI library has. */
#if MPI_VERSION < 4
int MPI_Allreduce_c(void) __attribute__((weak));
#if !HAS_PERSISTENT
int MPI_Allreduce_init(void) __attribute__((weak));
#endif
static int lacking_functions(struct where at) {
  int mistakes = 0;
  (void)at;
  WRONG_IF(MPI_Allreduce_c != NULL);
#if !HAS_PERSISTENT
  WRONG_IF(MPI_Allreduce_init != NULL);
#endif
  return mistakes;
}
#endif

/* New processes have a world of their own, and know nothing of ours. */
static int spawn(struct where at) {
  int mistakes = 0;
  MPI_Comm inter = MPI_COMM_NULL;
  MPI_Comm all = MPI_COMM_NULL;
  MPI_Comm_get_parent(&inter);
  const int child = inter != MPI_COMM_NULL;
  if (!child) {
    char* arguments[] = {"spawn", NULL};
    char path[4096] = "";
    if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) return 1;
    MPI_Comm_spawn(path, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                   MPI_ERRCODES_IGNORE);
  }
  MPI_Intercomm_merge(inter, child, &all);
  for (int call = 0; call < 20; ++call) mistakes += check_sum(at, all, call);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&inter);
  return mistakes;
}

/* The memory that a communicator costs while its calls are only watched, with calls of many sizes.
 * The MPI library has made what it needs before. */
static int memory(struct where at) {
  enum { comms = 30, kinds = 80 };
  static char in[16384], out[16384];
  MPI_Comm all[comms];
  for (int i = 0; i < comms; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &all[i]);
    for (int call = 0; call < 3; ++call) {
      LIBRARY(Allreduce)(in, out, sizeof in, MPI_CHAR, MPI_MAX, all[i]);
    }
  }
  const size_t before = mallinfo2().uordblks;
  for (int i = 0; i < comms; ++i) {
    for (int kind = 0; kind < kinds; ++kind) {
      MPI_Allreduce(in, out, 2000 + 150 * kind, MPI_CHAR, MPI_MAX, all[i]);
    }
  }
  const size_t bytes = mallinfo2().uordblks - before;
  if (at.rank == 0) printf("bytes of a communicator: %zu\n", bytes / comms);
  for (int i = 0; i < comms; ++i) MPI_Comm_free(&all[i]);
  return bytes / comms > (64U << 10) + 64U * (unsigned)at.ranks;
}

/* Broadcasts of more than 2 GiB, in one piece of memory whose pages are the same again and again.
 * The last one's datatype is not known to lie in a row. */
static int huge(struct where at) {
  enum { block = 1 << 20, blocks = 16, repeats = 129 };
  int mistakes = 0;
  MPI_Datatype large = MPI_DATATYPE_NULL;
  MPI_Datatype whole = MPI_DATATYPE_NULL; /* no int holds its bytes */
  MPI_Datatype array = MPI_DATATYPE_NULL; /* the same as a subarray */
  const size_t period = (size_t)block * blocks;
  const int file = memfd_create("huge", 0);
  char* const data =
      mmap(NULL, period * repeats, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  WRONG_IF(file < 0 || data == MAP_FAILED || ftruncate(file, (off_t)period) != 0);
  for (size_t i = 0; i < repeats && mistakes == 0; ++i) {
    WRONG_IF(mmap(data + i * period, period, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                  0) == MAP_FAILED);
  }
  if (mistakes != 0) return mistakes;
  MPI_Type_contiguous(block, MPI_CHAR, &large);
  MPI_Type_contiguous(blocks * repeats, large, &whole);
  const int sizes[] = {blocks * repeats}, starts[] = {0};
  MPI_Type_create_subarray(1, sizes, sizes, starts, MPI_ORDER_C, large, &array);
  MPI_Type_commit(&large);
  MPI_Type_commit(&whole);
  MPI_Type_commit(&array);
  for (int call = 0; call < 4; ++call) {
    mistakes += check_sum(at, MPI_COMM_WORLD, call);
    for (size_t i = 0; i < period; ++i) {
      data[i] = at.rank == 0 ? (char)(i * 31 + i / 7 + (size_t)call) : 0;
    }
#if MPI_VERSION >= 4
    if (call == 1) {
      MPI_Bcast_c(data, (MPI_Count)(period * repeats), MPI_CHAR, 0, MPI_COMM_WORLD);
    } else
#endif
    {
      const MPI_Datatype type = call == 3 ? array : call == 2 && at.rank == 0 ? whole : large;
      MPI_Bcast(data, type == large ? blocks * repeats : 1, type, 0, MPI_COMM_WORLD);
    }
    for (size_t i = 0; i < period && mistakes == 0; ++i) {
      WRONG_IF(data[i] != (char)(i * 31 + i / 7 + (size_t)call));
    }
  }
  MPI_Type_free(&large);
  MPI_Type_free(&whole);
  MPI_Type_free(&array);
  munmap(data, period * repeats);
  close(file);
  return mistakes;
}

#if MPI_VERSION >= 4
/* For one rank, which the library leaves alone: counts that no int holds, beside ignored ones. */
static int large_in_place(struct where at) {
  const MPI_Count beyond = (MPI_Count)INT_MAX + 2;
  char* const data = mmap(NULL, (size_t)beyond, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  int mistakes = at.ranks != 1;
  WRONG_IF(data == MAP_FAILED);
  if (mistakes != 0) return mistakes;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  WRONG_IF(MPI_Gather_c(MPI_IN_PLACE, 0, MPI_CHAR, data, beyond, MPI_CHAR, 0, MPI_COMM_WORLD));
  WRONG_IF(MPI_Scatter_c(data, beyond, MPI_CHAR, MPI_IN_PLACE, 0, MPI_CHAR, 0, MPI_COMM_WORLD));
  WRONG_IF(MPI_Allgather_c(MPI_IN_PLACE, 0, MPI_CHAR, data, beyond, MPI_CHAR, MPI_COMM_WORLD));
  WRONG_IF(MPI_Allgather_c(MPI_IN_PLACE, beyond, MPI_CHAR, data, 1, MPI_CHAR, MPI_COMM_WORLD));
  munmap(data, (size_t)beyond);
  return mistakes;
}

/* A communicator of a session, beside those of MPI_COMM_WORLD and after them. */
static int session_beside_world(struct where at) {
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  int mistakes = 0;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  for (int i = 0; i < 3; ++i) {
    MPI_Comm_create_from_group(group, "beside", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    for (int call = 0; call < 3; ++call) {
      mistakes += check_sum(at, comm, call);
      MPI_Barrier(comm);
      mistakes += check_sum(at, MPI_COMM_WORLD, call);
    }
    MPI_Comm_free(&comm);
  }
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  return mistakes + check_sum(at, MPI_COMM_WORLD, 0);
}
#endif

/* A rank ends while the others wait for it in a call on a communicator with a name. */
static int dies(struct where at) {
  static int in[100000], out[100000]; /* long enough to be handled */
  const char* const how = getenv("TEST_DEATH");
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_name(comm, "mortals");
  for (int call = 0; call < 20; ++call) {
    if (call == 10 && at.rank == 1) {
      usleep(300000);
      if (how != NULL && strcmp(how, "exit") == 0) _exit(3);
      raise(SIGKILL);
    }
    MPI_Allreduce(in, out, 100000, MPI_INT, MPI_SUM, comm);
  }
  return 1;
}

/* Rooted calls of which the automatic choice learns in blocks, and what the ranks tell each other
 * about these. */
static int rooted_calls_on(MPI_Comm comm, int calls) {
  enum { length = 1 << 14 };
  int mistakes = 0;
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  int* const mine = malloc(length * sizeof *mine);
  int* const all = malloc((size_t)ranks * length * sizeof *all);
  for (int call = 0; call < calls; ++call) {
    const int root = call % 2 * (ranks - 1);
    const int last = call + ranks - 1;
    if (call % ranks == rank) usleep(500);
    if (call % 8 == 7) MPI_Barrier(comm);
    mine[length - 1] = rank == root ? call : -1;
    MPI_Bcast(mine, length, MPI_INT, root, comm);
    WRONG_IF(mine[length - 1] != call);
    for (int i = 0; i < length; ++i) mine[i] = call + rank;
    MPI_Reduce(mine, all, length, MPI_INT, MPI_SUM, root, comm);
    WRONG_IF(rank == root && all[length / 2] != (call + last) * ranks / 2);
    MPI_Gather(mine, length, MPI_INT, all, length, MPI_INT, root, comm);
    WRONG_IF(rank == root && all[ranks * length - 1] != last);
    MPI_Scatter(all, length, MPI_INT, mine, length, MPI_INT, root, comm);
    WRONG_IF(mine[length / 2] != call + rank);
  }
  free(mine);
  free(all);
  return mistakes;
}

/* A communicator that ends within a block is gone at once, and with it what the program keeps. */
static int rooted_calls_end(struct where at) {
  int mistakes = 0;
  (void)at;
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_with_a_call, &keyval, NULL);
  for (int i = 0; i < 6; ++i) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_attr(comm, keyval, NULL);
    deleted_calls = 0;
    mistakes += rooted_calls_on(comm, 60 + 5 * i);
    if (i % 2 == 0) {
      MPI_Comm_free(&comm);
    } else {
      MPI_Comm_disconnect(&comm);
    }
    WRONG_IF(deleted_calls != 1);
  }
  MPI_Comm_free_keyval(&keyval);
  return mistakes;
}

static int rooted_blocks(struct where at) {
  MPI_Comm backwards = MPI_COMM_NULL;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -at.rank, &backwards);
  MPI_Comm_split(MPI_COMM_WORLD, at.rank % 2, at.rank, &half);
  int mistakes = rooted_calls_on(backwards, 80) + rooted_calls_on(half, 80 + 20 * (at.rank % 2));
  if (at.rank % 2 == 0) mistakes += rooted_calls_on(half, 40);
  MPI_Comm_free(&half);
  MPI_Comm_split(MPI_COMM_WORLD, at.rank % 2, -at.rank, &half);
  mistakes += rooted_calls_on(half, 60) + rooted_calls_on(backwards, 20);
  MPI_Comm_free(&half);
  MPI_Comm_free(&backwards);
  return mistakes;
}

const struct named_case life_cases[] = {
    {"communicators", communicators},
    {"freed_in_any_order", freed_in_any_order},
    {"one_late", one_late},
    {"attributes", attributes},
    {"handles_again", handles_again},
    {"intercommunicators", intercommunicators},
    {"made_apart", made_apart},
    {"topologies", topologies},
    {"errors", errors},
    {"threads", threads},
    {"many_threads", many_threads},
    {"children", children},
    {"pipeline", pipeline},
    {"nonblocking", nonblocking},
#if MPI_VERSION < 4
    {"lacking_functions", lacking_functions},
#endif
#if HAS_PERSISTENT
    {"persistent", persistent},
#endif
#if MPI_VERSION >= 4
    {"session_beside_world", session_beside_world},
#endif
    {NULL, NULL},
};
#ifndef OMPI_MAJOR_VERSION
/* In MPICH communicators have no error handler until one is set: errors on them, and on none, meet
 * that of MPI_COMM_WORLD. It must stay so. */
static int no_handler(struct where at) {
  int mistakes = 0, size = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int call = 0; call < 40; ++call) {
    mistakes += check_sum(at, call % 2 == 0 ? comm : MPI_COMM_WORLD, call);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  WRONG_IF(MPI_Type_size(MPI_DATATYPE_NULL, &size) == MPI_SUCCESS);
  WRONG_IF(MPI_Send(&size, -1, MPI_INT, 0, 0, comm) == MPI_SUCCESS);
  MPI_Comm_free(&comm);
  return mistakes;
}

/* Where the program's error handler returns, MPICH's functions say that all is well: what the
 * variable held before is no communicator that was made. */
static int unmade(struct where at) {
  int mistakes = 0;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm child = MPI_COMM_NULL;
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm same = comm;
  handled_errors = 0;
  if (at.rank == 0) {
    MPI_Comm_dup(MPI_COMM_NULL, &same);
    MPI_Comm_create(MPI_COMM_NULL, MPI_GROUP_EMPTY, &same);
    MPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_NULL, 0, &same);
    WRONG_IF(handled_errors != 3);
    memset(&same, 0, sizeof same);
    MPI_Comm_split(MPI_COMM_NULL, 0, 0, &same);
    WRONG_IF(handled_errors != 4);
    same = comm;
  }
  WRONG_IF(same != comm);
  for (int call = 0; call < 10; ++call) mistakes += check_sum(at, comm, call);
  MPI_Comm_dup(comm, &child);
  for (int call = 0; call < 10; ++call) mistakes += check_sum(at, child, call);
  MPI_Comm_free(&child);
  MPI_Comm_free(&comm);
  MPI_Errhandler_free(&handler);
  return mistakes;
}
#endif

const struct named_case named_only_cases[] = {
    {"rooted_blocks", rooted_blocks},
    {"rooted_calls_end", rooted_calls_end},
#ifndef OMPI_MAJOR_VERSION
    {"no_handler", no_handler},
    {"unmade", unmade},
    {"freed_handles", freed_handles},
#endif
    {"long_sums", long_sums},
    {"long_sums_freed", long_sums_freed},
    {"spawn", spawn},
    {"memory", memory},
    {"huge", huge},
    {"dies", dies},
#if MPI_VERSION >= 4
    {"large_in_place", large_in_place},
#endif
    {NULL, NULL},
};
