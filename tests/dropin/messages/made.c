/* Messages on communicators that were made in every way, before any collective on them, in another
 * order on each rank: mpirun -n N made, with N of 4 or more. Two of each kind have the same ranks.
 * Rank 0 prints the number of messages that each rank sends. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { most = 64 };
static MPI_Comm made[most];
static int count, rank, ranks;

static void add(const char* kind, MPI_Comm comm) {
  char name[MPI_MAX_OBJECT_NAME];
  snprintf(name, sizeof name, "%s %d", kind, count);
  MPI_Comm_set_name(comm, name);
  made[count++] = comm;
}

static void of_all_ranks_of_another(MPI_Comm of, MPI_Group all) {
  const int both[2] = {ranks / 2, 2}, not_periodic[2] = {0, 0}, keep[2] = {1, 1};
  const int ends = 1, peer = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  int index[most], edges[most];
  MPI_Comm fresh;
  MPI_Comm_dup(of, &fresh);
  add("dup", fresh);
  MPI_Comm_dup_with_info(of, MPI_INFO_NULL, &fresh);
  add("dup_with_info", fresh);
  MPI_Comm_split(of, 0, rank, &fresh);
  add("split", fresh);
  MPI_Comm_create(of, all, &fresh);
  add("create", fresh);
  MPI_Comm_create_group(of, all, 3, &fresh);
  add("create_group", fresh);
  MPI_Cart_create(of, 2, both, not_periodic, 0, &fresh);
  add("cart", fresh);
  MPI_Cart_sub(fresh, keep, &fresh);
  add("cart_sub", fresh);
  for (int i = 0; i < ranks; ++i) {
    index[i] = i + 1;
    edges[i] = (i + 1) % ranks;
  }
  MPI_Graph_create(of, ranks, index, edges, 0, &fresh);
  add("graph", fresh);
  MPI_Dist_graph_create(of, 1, &rank, &ends, &peer, &ends, MPI_INFO_NULL, 0, &fresh);
  add("dist_graph", fresh);
  MPI_Dist_graph_create_adjacent(of, 1, &before, &ends, 1, &peer, &ends, MPI_INFO_NULL, 0, &fresh);
  add("dist_graph_adjacent", fresh);
}

/* Three are under way at one time; the first of another one's, too. */
static void begun(MPI_Comm of) {
  MPI_Comm fresh[3];
  MPI_Request requests[3];
  MPI_Comm_idup(of, &fresh[0], &requests[0]);
#if MPI_VERSION >= 4
  MPI_Comm_idup_with_info(of, MPI_INFO_NULL, &fresh[1], &requests[1]);
#else
  MPI_Comm_idup(of, &fresh[1], &requests[1]);
#endif
  MPI_Comm_idup(MPI_COMM_WORLD, &fresh[2], &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 3; ++i) add("idup", fresh[i]);
}

static void of_two_groups(MPI_Comm half, int side) {
  MPI_Comm both, other, fresh;
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, side == 0 ? ranks / 2 : 0, 9, &both);
  MPI_Intercomm_merge(both, side, &fresh);
  add("merge", fresh);
  MPI_Comm_dup(both, &other);
  MPI_Intercomm_merge(other, side, &fresh);
  add("merge_of_dup", fresh);
  MPI_Comm_dup(fresh, &fresh);
  add("dup_of_merge", fresh);
}

/* One half asks the other one. */
static void of_a_port(MPI_Comm half, int side) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm both, fresh;
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (side == 0) MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &both);
  if (side == 1) MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &both);
  MPI_Intercomm_merge(both, side, &fresh);
  add("port", fresh);
  if (rank == 0) MPI_Close_port(port);
}

#if MPI_VERSION >= 4
static void of_a_session(MPI_Session session) {
  const int low[1][3] = {{0, ranks / 2 - 1, 1}}, high[1][3] = {{ranks / 2, ranks - 1, 1}};
  MPI_Group all, halves[2];
  MPI_Comm fresh;
  const int side = rank >= ranks / 2;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
  MPI_Comm_create_from_group(all, "made", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &fresh);
  add("from_group", fresh);
  MPI_Group_range_incl(all, 1, (int (*)[3])low, &halves[0]);
  MPI_Group_range_incl(all, 1, (int (*)[3])high, &halves[1]);
  MPI_Intercomm_create_from_groups(halves[side], 0, halves[1 - side], 0, "groups", MPI_INFO_NULL,
                                   MPI_ERRORS_ARE_FATAL, &fresh);
  MPI_Intercomm_merge(fresh, side, &fresh);
  add("from_groups", fresh);
  MPI_Group_free(&all);
  MPI_Group_free(&halves[0]);
  MPI_Group_free(&halves[1]);
}
#endif

int main(int argc, char** argv) {
  static char in[most][64 * most], out[64 * most];
  MPI_Request requests[2 * most];
  MPI_Group all;
  MPI_Comm half;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int side = rank >= ranks / 2;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half);
#if MPI_VERSION >= 4
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
#endif
  for (int i = 0; i < 2; ++i) {
    of_all_ranks_of_another(MPI_COMM_WORLD, all);
    begun(made[0]);
    of_two_groups(half, side);
    if (argc > 1 && strcmp(argv[1], "ports") == 0) of_a_port(half, side);
#if MPI_VERSION >= 4
    of_a_session(session);
#endif
  }
  for (int i = 0; i < count; ++i) {
    const int which = rank == 0 ? i : rank == 1 ? count - 1 - i : (i + rank) % count;
    int mine;
    MPI_Comm_rank(made[which], &mine);
    MPI_Irecv(in[which], sizeof *in, MPI_CHAR, (mine + ranks - 1) % ranks, 0, made[which],
              &requests[2 * i]);
    MPI_Isend(out, 64 * which, MPI_CHAR, (mine + 1) % ranks, 0, made[which], &requests[2 * i + 1]);
  }
  MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < count; ++i) MPI_Barrier(made[i]);
  if (rank == 0) printf("%d\n", count);
#if MPI_VERSION >= 4
  MPI_Session_finalize(&session);
#endif
  return MPI_Finalize();
}
