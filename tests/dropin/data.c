/* Buffers, counts, datatypes and operators: each call beside the MPI library's own. */
#include <math.h>
#include <stdint.h>

#include "cases.h"

enum { most = 40000, repeats = 6 };

static double* fresh(struct where at, int count, int salt) {
  double* const data = malloc(sizeof(double) * (size_t)(count > 0 ? count : 1));
  for (int i = 0; i < count; ++i) data[i] = (double)((i * 7 + at.rank * 13 + salt) % 1000);
  return data;
}

static int differ(const void* ours, const void* theirs, size_t bytes) {
  return bytes > 0 && memcmp(ours, theirs, bytes) != 0;
}

static size_t doubles(int count) { return sizeof(double) * (size_t)count; }

static const int counts[] = {0, 1, 5, 1000, most};
enum { sizes = sizeof counts / sizeof *counts };

static int reductions(struct where at) {
  int mistakes = 0;
  for (int call = 0; call < sizes * repeats; ++call) {
    const int count = counts[call % sizes];
    const int root = call % at.ranks;
    double* const in = fresh(at, count, call);
    double* const ours = fresh(at, count, 1);
    double* const theirs = fresh(at, count, 1);
    WRONG_IF(MPI_Allreduce(in, ours, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS);
    LIBRARY(Allreduce)(in, theirs, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, doubles(count)));
    WRONG_IF(MPI_Reduce(in, ours, count, MPI_DOUBLE, MPI_MAX, root, MPI_COMM_WORLD) != MPI_SUCCESS);
    LIBRARY(Reduce)(in, theirs, count, MPI_DOUBLE, MPI_MAX, root, MPI_COMM_WORLD);
    WRONG_IF(at.rank == root && differ(ours, theirs, doubles(count)));
    free(in);
    free(ours);
    free(theirs);
  }
  return mistakes;
}

static int moves(struct where at) {
  int mistakes = 0;
  for (int call = 0; call < sizes * repeats; ++call) {
    const int count = counts[call % sizes];
    const int root = call % at.ranks;
    const size_t bytes = doubles(count * at.ranks);
    double* const in = fresh(at, count * at.ranks, call);
    double* const ours = fresh(at, count * at.ranks, 1);
    double* const theirs = fresh(at, count * at.ranks, 1);
    MPI_Bcast(ours, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    LIBRARY(Bcast)(theirs, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, bytes));
    MPI_Allgather(in, count, MPI_DOUBLE, ours, count, MPI_DOUBLE, MPI_COMM_WORLD);
    LIBRARY(Allgather)(in, count, MPI_DOUBLE, theirs, count, MPI_DOUBLE, MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, bytes));
    MPI_Gather(in, count, MPI_DOUBLE, ours, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    LIBRARY(Gather)(in, count, MPI_DOUBLE, theirs, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, bytes));
    MPI_Scatter(in, count, MPI_DOUBLE, ours, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    LIBRARY(Scatter)(in, count, MPI_DOUBLE, theirs, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, bytes));
    free(in);
    free(ours);
    free(theirs);
  }
  return mistakes;
}

static int in_place(struct where at) {
  int mistakes = 0;
  for (int call = 0; call < sizes * repeats; ++call) {
    const int count = counts[call % sizes];
    const int root = call % at.ranks;
    const size_t all = doubles(count * at.ranks);
    double* const ours = fresh(at, count * at.ranks, call);
    double* const theirs = fresh(at, count * at.ranks, call);
    const int root_here = at.rank == root;
    MPI_Allreduce(MPI_IN_PLACE, ours, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    LIBRARY(Allreduce)(MPI_IN_PLACE, theirs, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, all));
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, ours, count, MPI_DOUBLE, MPI_COMM_WORLD);
    LIBRARY(Allgather)(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, theirs, count, MPI_DOUBLE,
                       MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, all));
    void* const ignored = call % 2 ? MPI_IN_PLACE : NULL;
    MPI_Reduce(root_here ? MPI_IN_PLACE : ours, root_here ? ours : ignored, count, MPI_DOUBLE,
               MPI_SUM, root, MPI_COMM_WORLD);
    LIBRARY(Reduce)(root_here ? MPI_IN_PLACE : theirs, root_here ? theirs : NULL, count, MPI_DOUBLE,
                    MPI_SUM, root, MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, all));
    MPI_Gather(root_here ? MPI_IN_PLACE : ours, count, MPI_DOUBLE, root_here ? ours : NULL, count,
               MPI_DOUBLE, root, MPI_COMM_WORLD);
    LIBRARY(Gather)(root_here ? MPI_IN_PLACE : theirs, count, MPI_DOUBLE, root_here ? theirs : NULL,
                    count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, all));
    MPI_Scatter(root_here ? ours : NULL, count, MPI_DOUBLE, root_here ? MPI_IN_PLACE : ours, count,
                MPI_DOUBLE, root, MPI_COMM_WORLD);
    LIBRARY(Scatter)(root_here ? theirs : NULL, count, MPI_DOUBLE,
                     root_here ? MPI_IN_PLACE : theirs, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, all));
    free(ours);
    free(theirs);
  }
  return mistakes;
}

/* Vectors around 1, 100 and 1024 bytes, of common datatypes and of others. */
static int limits(struct where at) {
  enum { most_bytes = 1040 };
  MPI_Datatype const types[] = {MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_FLOAT, MPI_DOUBLE};
  unsigned char in[2 * most_bytes], ours[2 * most_bytes], theirs[2 * most_bytes];
  int mistakes = 0;
  memset(in, at.rank + 1, sizeof in);
  /* Rooted calls are handled after a call that all ranks wait in. */
  MPI_Bcast(in, 2 * most_bytes, MPI_SIGNED_CHAR, 0, MPI_COMM_WORLD);
  MPI_Reduce(in, ours, 2 * most_bytes, MPI_SIGNED_CHAR, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  memset(in, at.rank + 1, sizeof in);
  for (int i = 0; i < 5; ++i) {
    int size = 0;
    PMPI_Type_size(types[i], &size);
    for (int count = 1; count * size <= most_bytes; ++count) {
      const int bytes = count * size;
      if (bytes > 16 && abs(bytes - 100) > 10 && bytes < 1010) continue;
      MPI_Allreduce(in, ours, count, types[i], MPI_MAX, MPI_COMM_WORLD);
      LIBRARY(Allreduce)(in, theirs, count, types[i], MPI_MAX, MPI_COMM_WORLD);
      WRONG_IF(differ(ours, theirs, (size_t)bytes));
      MPI_Reduce(in, ours, count, types[i], MPI_MIN, 0, MPI_COMM_WORLD);
      LIBRARY(Reduce)(in, theirs, count, types[i], MPI_MIN, 0, MPI_COMM_WORLD);
      WRONG_IF(at.rank == 0 && differ(ours, theirs, (size_t)bytes));
      memcpy(ours, in, (size_t)bytes);
      MPI_Bcast(ours, count, types[i], 0, MPI_COMM_WORLD);
      memset(theirs, 1, (size_t)bytes);
      WRONG_IF(differ(ours, theirs, (size_t)bytes));
    }
  }
  return mistakes;
}

/* No elements: buffers may be NULL, and a rank need not wait for the others. */
static int nothing(struct where at) {
  int mistakes = 0;
  (void)at;
  WRONG_IF(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS);
  WRONG_IF(MPI_Reduce(NULL, NULL, 0, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
  WRONG_IF(MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
  WRONG_IF(MPI_Allgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD) != MPI_SUCCESS);
  WRONG_IF(MPI_Gather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
  WRONG_IF(MPI_Scatter(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
  return mistakes;
}

/* In a call without elements a rank waits for nobody, so it can send afterwards what another one
 * receives before. */
static int nothing_waits_for_nobody(struct where at) {
  int mistakes = 0;
  int word = 0;
  for (int call = 0; call < 3 * repeats && at.ranks > 1; ++call) {
    if (at.rank == 1) MPI_Recv(&word, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (call % 3 == 0) MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (call % 3 == 1) MPI_Reduce(NULL, NULL, 0, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
    if (call % 3 == 2) MPI_Bcast(NULL, 0, MPI_INT, 1, MPI_COMM_WORLD);
    if (at.rank == 0) MPI_Send(&word, 1, MPI_INT, 1, 8, MPI_COMM_WORLD);
  }
  return mistakes;
}

/* Parts of different lengths, in another order and with gaps; some are empty. */
static int parts(struct where at) {
  int mistakes = 0;
  int* const lengths = malloc(sizeof(int) * (size_t)at.ranks);
  int* const begins = malloc(sizeof(int) * (size_t)at.ranks);
  for (int call = 0; call < repeats; ++call) {
    int end = 0;
    for (int rank = at.ranks - 1; rank >= 0; --rank) {
      lengths[rank] = rank == call % at.ranks ? 0 : 300 * rank + 7 * call;
      begins[rank] = end + 5;
      end = begins[rank] + lengths[rank];
    }
    double* const in = fresh(at, lengths[at.rank], call);
    double* const ours = fresh(at, end, 1);
    double* const theirs = fresh(at, end, 1);
    MPI_Allgatherv(in, lengths[at.rank], MPI_DOUBLE, ours, lengths, begins, MPI_DOUBLE,
                   MPI_COMM_WORLD);
    LIBRARY(Allgatherv)(in, lengths[at.rank], MPI_DOUBLE, theirs, lengths, begins, MPI_DOUBLE,
                        MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, doubles(end)));
    for (int i = 0; i < lengths[at.rank]; ++i) {
      ours[begins[at.rank] + i] = theirs[begins[at.rank] + i] = i + at.rank;
    }
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, ours, lengths, begins, MPI_DOUBLE,
                   MPI_COMM_WORLD);
    LIBRARY(Allgatherv)(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, theirs, lengths, begins, MPI_DOUBLE,
                        MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, doubles(end)));
    free(in);
    free(ours);
    free(theirs);
  }
  free(lengths);
  free(begins);
  return mistakes;
}

struct holes {
  double number;
  char letter;
};

static MPI_Datatype with_holes(void) {
  const int lengths[] = {1, 1};
  const MPI_Aint begins[] = {0, sizeof(double)};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_CHAR};
  MPI_Datatype loose = MPI_DATATYPE_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(2, lengths, begins, types, &loose);
  MPI_Type_create_resized(loose, 0, sizeof(struct holes), &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&loose);
  return type;
}

static int derived_types(struct where at) {
  int mistakes = 0;
  enum { count = 700 };
  MPI_Datatype structs = with_holes();
  MPI_Datatype columns = MPI_DATATYPE_NULL;
  MPI_Type_vector(count, 1, 3, MPI_DOUBLE, &columns);
  MPI_Type_commit(&columns);
  for (int call = 0; call < repeats; ++call) {
    const int root = call % at.ranks;
    const size_t bytes = sizeof(struct holes) * (size_t)(count * at.ranks);
    struct holes* const in = calloc(1, bytes);
    struct holes* const ours = calloc(1, bytes);
    struct holes* const theirs = calloc(1, bytes);
    memset(ours, 0x5a, bytes);
    memset(theirs, 0x5a, bytes);
    for (int i = 0; i < count; ++i) {
      in[i].number = i + at.rank + call;
      in[i].letter = (char)(i + at.rank);
    }
    MPI_Allgather(in, count, structs, ours, count, structs, MPI_COMM_WORLD);
    LIBRARY(Allgather)(in, count, structs, theirs, count, structs, MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, bytes));
    MPI_Bcast(ours, count, structs, root, MPI_COMM_WORLD);
    LIBRARY(Bcast)(theirs, count, structs, root, MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, bytes));
    free(in);
    free(ours);
    free(theirs);
    /* The root sends a column; the others receive it as a row. */
    double* const our_numbers = fresh(at, 3 * count, call);
    double* const their_numbers = fresh(at, 3 * count, call);
    const int sends = at.rank == root;
    MPI_Bcast(our_numbers, sends ? 1 : count, sends ? columns : MPI_DOUBLE, root, MPI_COMM_WORLD);
    LIBRARY(Bcast)(their_numbers, sends ? 1 : count, sends ? columns : MPI_DOUBLE, root,
                   MPI_COMM_WORLD);
    WRONG_IF(differ(our_numbers, their_numbers, doubles(3 * count)));
    free(our_numbers);
    free(their_numbers);
  }
  MPI_Type_free(&structs);
  MPI_Type_free(&columns);
  return mistakes;
}

/* x -> a x + b: composing such functions does not commute. Numbers stay exact modulo 2^32. */
struct line {
  unsigned a;
  unsigned b;
};

static void compose(void* left, void* right, int* count, MPI_Datatype* type) {
  const struct line* const first = left;
  struct line* const second = right;
  (void)type;
  for (int i = 0; i < *count; ++i) {
    second[i].b = second[i].a * first[i].b + second[i].b;
    second[i].a = second[i].a * first[i].a;
  }
}

static void add(void* left, void* right, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < 2 * *count; ++i) ((unsigned*)right)[i] += ((const unsigned*)left)[i];
}

static int user_operators(struct where at) {
  int mistakes = 0;
  enum { count = 3000 };
  static struct line in[count], ours[count], theirs[count];
  MPI_Datatype lines = MPI_DATATYPE_NULL;
  MPI_Op ops[2];
  MPI_Type_contiguous(2, MPI_UNSIGNED, &lines);
  MPI_Type_commit(&lines);
  MPI_Op_create(compose, 0, &ops[0]);
  MPI_Op_create(add, 1, &ops[1]);
  for (int call = 0; call < 2 * repeats; ++call) {
    const int root = call % at.ranks;
    for (unsigned i = 0; i < count; ++i) {
      in[i] = (struct line){3 + i + (unsigned)at.rank, i + 5 + (unsigned)call};
    }
    MPI_Allreduce(in, ours, count, lines, ops[call % 2], MPI_COMM_WORLD);
    LIBRARY(Allreduce)(in, theirs, count, lines, ops[call % 2], MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, sizeof ours));
    MPI_Reduce(in, ours, count, lines, ops[call % 2], root, MPI_COMM_WORLD);
    LIBRARY(Reduce)(in, theirs, count, lines, ops[call % 2], root, MPI_COMM_WORLD);
    WRONG_IF(at.rank == root && differ(ours, theirs, sizeof ours));
  }
  MPI_Op_free(&ops[0]);
  MPI_Op_free(&ops[1]);
  MPI_Type_free(&lines);
  return mistakes;
}

/* A rank's own part of the receive buffer as its send buffer, without MPI_IN_PLACE. MPI forbids it;
 * some libraries refuse it where they carry out the call. */
static int aliased_parts(struct where at) {
  int mistakes = 0;
  enum { count = 500 };
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int* const all = malloc(sizeof(int) * count * (size_t)at.ranks);
  for (int call = 0; call < repeats; ++call) {
    int* const own = all + count * at.rank;
    int category = MPI_SUCCESS;
    for (int i = 0; i < count; ++i) own[i] = i * at.rank + call;
    const int code = MPI_Allgather(own, count, MPI_INT, all, count, MPI_INT, comm);
    if (code != MPI_SUCCESS) {
      MPI_Error_class(code, &category);
      WRONG_IF(category != MPI_ERR_BUFFER);
      continue;
    }
    for (int i = 0; i < count * at.ranks; ++i) WRONG_IF(all[i] != i % count * (i / count) + call);
  }
  free(all);
  MPI_Comm_free(&comm);
  return mistakes;
}

/* Sums of short integers that leave their range: some libraries saturate them, so that the order
 * and the place in the vector count. */
static int same_overflows(struct where at) {
  int mistakes = 0;
  enum { bytes = 5000 };
  static const int lengths[] = {64, 250, 1001, bytes / 2};
  static int8_t in[bytes], out[bytes], of_rank_0[bytes];
  for (int call = 0; call < 8 * repeats; ++call) {
    const int count = lengths[call % 4];
    const MPI_Datatype types[] = {MPI_INT8_T, MPI_INT16_T, MPI_UINT8_T, MPI_UINT16_T};
    for (int i = 0; i < bytes; ++i) {
      in[i] = (int8_t)((i * 2654435761U + (unsigned)(at.rank * 40503 + call) * 69069U) >> 13U);
    }
    memset(out, 0, sizeof out);
    MPI_Allreduce(in, out, count, types[call / 4 % 4], MPI_SUM, MPI_COMM_WORLD);
    memcpy(of_rank_0, out, sizeof out);
    PMPI_Bcast(of_rank_0, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    WRONG_IF(differ(out, of_rank_0, sizeof out));
  }
  return mistakes;
}

/* Programs take a branch by a maximum: it must be the same on all ranks, NaN or not. */
static int same_everywhere(struct where at) {
  int mistakes = same_overflows(at);
  enum { count = 2000 };
  static float in[count], out[count], of_rank_0[count];
  for (int call = 0; call < repeats; ++call) {
    for (int i = 0; i < count; ++i) {
      in[i] = (i + at.rank + call) % 7 == 0 ? NAN
              : (i + at.rank) % 3 == 0      ? -0.0F
                                            : 0.1F * (float)i;
    }
    MPI_Allreduce(in, out, count, MPI_FLOAT, call % 2 == 0 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
    memcpy(of_rank_0, out, sizeof out);
    LIBRARY(Bcast)(of_rank_0, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
    WRONG_IF(differ(out, of_rank_0, sizeof out));
  }
  return mistakes;
}

#if MPI_VERSION >= 4
static int large_counts(struct where at) {
  int mistakes = 0;
  for (int call = 0; call < sizes * repeats; ++call) {
    const int count = counts[call % sizes];
    const int root = call % at.ranks;
    const size_t all = doubles(count * at.ranks);
    double* const in = fresh(at, count * at.ranks, call);
    double* const ours = fresh(at, count * at.ranks, 1);
    double* const theirs = fresh(at, count * at.ranks, 1);
    MPI_Count lengths[64];
    MPI_Aint begins[64];
    for (int i = 0; i < at.ranks && i < 64; ++i) {
      lengths[i] = count;
      begins[i] = count * (at.ranks - 1 - i);
    }
    MPI_Allreduce_c(in, ours, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    LIBRARY(Allreduce_c)(in, theirs, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, all));
    MPI_Reduce_c(in, ours, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    LIBRARY(Reduce_c)(in, theirs, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    WRONG_IF(at.rank == root && differ(ours, theirs, all));
    /* Some ranks count by int. */
    if (at.rank % 2 == 0) MPI_Bcast_c(ours, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    if (at.rank % 2 != 0) MPI_Bcast(ours, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    LIBRARY(Bcast_c)(theirs, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    WRONG_IF(at.rank == root && differ(ours, theirs, doubles(count)));
    MPI_Allgather_c(in, count, MPI_DOUBLE, ours, count, MPI_DOUBLE, MPI_COMM_WORLD);
    LIBRARY(Allgather_c)(in, count, MPI_DOUBLE, theirs, count, MPI_DOUBLE, MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, all));
    MPI_Allgatherv_c(in, count, MPI_DOUBLE, ours, lengths, begins, MPI_DOUBLE, MPI_COMM_WORLD);
    LIBRARY(Allgatherv_c)(in, count, MPI_DOUBLE, theirs, lengths, begins, MPI_DOUBLE,
                          MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, all));
    MPI_Gather_c(in, count, MPI_DOUBLE, ours, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    LIBRARY(Gather_c)(in, count, MPI_DOUBLE, theirs, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, all));
    MPI_Scatter_c(in, count, MPI_DOUBLE, ours, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    LIBRARY(Scatter_c)(in, count, MPI_DOUBLE, theirs, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, all));
    free(in);
    free(ours);
    free(theirs);
  }
  return mistakes;
}
#endif

const struct named_case data_cases[] = {
    {"reductions", reductions},
    {"moves", moves},
    {"in_place", in_place},
    {"limits", limits},
    {"nothing", nothing},
    {"nothing_waits_for_nobody", nothing_waits_for_nobody},
    {"parts", parts},
    {"derived_types", derived_types},
    {"user_operators", user_operators},
    {"same_everywhere", same_everywhere},
    {"aliased_parts", aliased_parts},
#if MPI_VERSION >= 4
    {"large_counts", large_counts},
#endif
    {NULL, NULL},
};
