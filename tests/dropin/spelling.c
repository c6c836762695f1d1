/* One call of MPI may be spelled in several ways, by a rank of its own or in each call: MPI_,
 * PMPI_, or by an address that was found in the MPI library itself, past all preloaded libraries.
 */
#include "cases.h"

enum spelling { by_mpi, by_pmpi, past_all };
typedef enum spelling (*chooser)(struct where at, int call);

enum { count = 3000, calls = 70 };

#define SPELLED(spelling, name) \
  ((spelling) == by_mpi ? MPI_##name : (spelling) == by_pmpi ? PMPI_##name : LIBRARY(name))

static int check(struct where at, chooser choose, MPI_Comm comm, int begin, int end) {
  static double in[count], out[count];
  static double all[8 * count];
  int mistakes = 0;
  if (at.ranks > 8) return 0;
  for (int call = begin; call < end; ++call) {
    const enum spelling spelling = choose(at, call);
    const int root = call % at.ranks;
    for (int i = 0; i < count; ++i) in[i] = at.rank + call + i;
    const double sum = at.ranks * (call + 0.5 * (at.ranks - 1));
    memset(out, 0, sizeof out);
    memset(all, 0, sizeof all);
    switch (call % 5) {
      case 0:
        SPELLED(spelling, Allgather)(in, count, MPI_DOUBLE, all, count, MPI_DOUBLE, comm);
        for (int i = 0; i < at.ranks * count; ++i) {
          if (all[i] != i / count + call + i % count) ++mistakes;
        }
        break;
      case 1:
        SPELLED(spelling, Bcast)(at.rank == root ? in : out, count, MPI_DOUBLE, root, comm);
        if (at.rank != root && out[7] != root + call + 7) ++mistakes;
        break;
      case 2:
        SPELLED(spelling, Reduce)(in, out, count, MPI_DOUBLE, MPI_SUM, root, comm);
        if (at.rank == root && out[9] != sum + at.ranks * 9) ++mistakes;
        break;
      default:
        SPELLED(spelling, Allreduce)(in, out, count, MPI_DOUBLE, MPI_SUM, comm);
        for (int i = 0; i < count; ++i) {
          if (out[i] != sum + (double)at.ranks * i) ++mistakes;
        }
    }
  }
  return mistakes;
}

static int on_new_ones(struct where at, chooser choose, MPI_Comm parent) {
  MPI_Comm comm = MPI_COMM_NULL;
  const enum spelling spelling = choose(at, 0);
  SPELLED(spelling, Comm_dup)(parent, &comm);
  int mistakes = check(at, choose, comm, 0, calls);
  MPI_Comm part = MPI_COMM_NULL;
  SPELLED(spelling, Comm_split)(comm, 0, at.rank, &part);
  mistakes += check(at, choose, part, 0, calls);
  MPI_Comm_free(&part);
  MPI_Comm_free(&comm);
  return mistakes;
}

static int on_some(struct where at, chooser choose) {
  return check(at, choose, MPI_COMM_WORLD, 0, calls) + on_new_ones(at, choose, MPI_COMM_WORLD);
}

static enum spelling rank_0_by_pmpi(struct where at, int call) {
  (void)call;
  return at.rank == 0 ? by_pmpi : by_mpi;
}
static int spelled_by_rank(struct where at) { return on_some(at, rank_0_by_pmpi); }

static enum spelling every_third_by_pmpi(struct where at, int call) {
  (void)at;
  return call % 3 == 0 ? by_pmpi : by_mpi;
}
static int spelled_by_call(struct where at) { return on_some(at, every_third_by_pmpi); }

static enum spelling in_turn_by_pmpi(struct where at, int call) {
  return (at.rank + call) % at.ranks == 0 ? by_pmpi : by_mpi;
}
static int spelled_by_both(struct where at) { return on_some(at, in_turn_by_pmpi); }

static enum spelling rank_1_past_all(struct where at, int call) {
  (void)call;
  return at.rank == 1 ? past_all : by_mpi;
}
static int past_all_on_a_rank(struct where at) { return on_some(at, rank_1_past_all); }

static enum spelling in_turn_past_all(struct where at, int call) {
  return (at.rank + call) % at.ranks == 0 ? past_all : by_mpi;
}
static int past_all_in_turn(struct where at) { return on_some(at, in_turn_past_all); }

/* A rank that passes the first calls by and takes part later, when others have given it up. */
static enum spelling at_first_past_all(struct where at, int call) {
  return at.rank == 0 && call < calls / 2 ? past_all : by_mpi;
}
static int past_all_at_first(struct where at) { return on_some(at, at_first_past_all); }

const struct named_case spelling_cases[] = {
    {"spelled_by_rank", spelled_by_rank},
    {"spelled_by_call", spelled_by_call},
    {"spelled_by_both", spelled_by_both},
    {"past_all_on_a_rank", past_all_on_a_rank},
    {"past_all_in_turn", past_all_in_turn},
    {"past_all_at_first", past_all_at_first},
    {NULL, NULL},
};
