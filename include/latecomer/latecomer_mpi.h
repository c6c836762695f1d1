/* latecomer_mpi.h: collectives for ranks that do not arrive together, with MPI's argument lists.
 *
 * Link with the library of your MPI family (liblatecomer_mpi_<family>). What latecomer cannot or
 * should not handle goes to the MPI library's own collective, on all ranks alike;
 * latecomer_get_stats() tells how often and why.
 *
 * LATECOMER_PROGRESS=thread in the environment of all ranks, with MPI_Init_thread and
 * MPI_THREAD_MULTIPLE: one thread a process receives and reduces for all its communicators while the
 * program computes, where calls have built-in operators and types and long vectors. Default: none.
 * What cannot be used is reported on stderr, once, and changes nothing.
 *
 * Errors. Collectives return MPI's codes, through the communicator's error handler as MPI's own
 * do. The functions that configure return MPI_SUCCESS or MPI_ERR_ARG (MPI_ERR_COMM for a
 * communicator that they do not serve, MPI_ERR_NO_MEM without memory) and never call an error
 * handler; latecomer_last_error() holds the message. */
#ifndef LATECOMER_LATECOMER_MPI_H
#define LATECOMER_LATECOMER_MPI_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "latecomer/latecomer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* MPI_Allreduce with the algorithm chosen for the communicator.
 *
 * If ranks turn out to follow different plans (different arrivals or networks were given), at
 * least one of them gets an error of a class of its own, described by MPI_Error_string and
 * latecomer_last_error(); the others are told. After any error in a handled call the
 * communicator is of no further use to latecomer: later calls on it fail at once. A long wait for
 * another rank is reported on stderr and goes on. */
LATECOMER_API int latecomer_allreduce(const void* sendbuf, void* recvbuf, int count,
                                      MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);

/* Chooses the algorithm of one collective on this communicator: "ring",
 * "prereduced_ring:segments=64", ... (`latecomer algorithms` lists them). Until then it is
 * "native". Collective over the communicator; the first time it makes another communicator
 * beside it, which is freed with it.
 *
 * MPI_ERR_ARG on every rank, and no change, if any rank's text cannot be read or the ranks' texts
 * differ in meaning. MPI_ERR_COMM for an intercommunicator. */
LATECOMER_API int latecomer_set_algorithm(MPI_Comm comm, const char* collective,
                                          const char* algorithm);

/* When each rank will enter the next collectives: seconds after any common instant, one entry a
 * rank, EQUAL ON ALL RANKS: exchange local measurements first, with MPI_Allgather for instance.
 * NULL forgets them: all are expected together. Local. Ranks that were given different times
 * follow different plans; the next call then ends with an error, at the latest when its first wait
 * is reported (latecomer_set_long_wait).
 *
 * MPI_ERR_ARG if `ranks` is not the communicator's size or a time is not finite. */
LATECOMER_API int latecomer_set_arrivals(MPI_Comm comm, const double* seconds, int ranks);

/* Where the arrivals that calls are planned with come from: "given", by latecomer_set_arrivals, which
 * is so until told otherwise; or "online": latecomer notes when each rank enters each call, tells
 * all ranks of it along with the call's own messages, and expects the next call to be like the last
 * ones. Collective over the communicator.
 *
 * MPI_ERR_ARG on every rank, and no change, for another text or where the ranks' texts differ. */
LATECOMER_API int latecomer_set_estimate(MPI_Comm comm, const char* estimate);

/* When each rank entered the last handled call (`last`) and is expected to enter the next one like
 * it (`expected`): seconds after the earliest, one entry a rank; either may be NULL. All 0 where
 * nothing is known. Only while the estimate is "online". Local.
 *
 * MPI_ERR_ARG if the estimate is not "online" or `ranks` is not the communicator's size. */
LATECOMER_API int latecomer_get_pattern(MPI_Comm comm, double* last, double* expected, int ranks);

/* A computing phase before the next collective on this communicator, so that latecomer need not wait
 * for it to end to know when it will. begin: it begins now. edge: `fraction` of its work is done, from
 * 0 to 1, more at each edge: when the rank will arrive is extrapolated from the time so far. end: it
 * is over. With a progress thread (LATECOMER_PROGRESS=thread) and the estimate "online" the other
 * ranks are told; without a thread each of these gives MPI a chance to move messages, and no more.
 * Local, short, and in no case needed for right results.
 *
 * MPI_ERR_ARG if `fraction` is not within 0 and 1 or not above that of the edge before, or there was no
 * begin. */
LATECOMER_API int latecomer_compute_begin(MPI_Comm comm);
LATECOMER_API int latecomer_edge(MPI_Comm comm, double fraction);
LATECOMER_API int latecomer_compute_end(MPI_Comm comm);

/* What transfers cost on this communicator's network, equal on all ranks:
 * "alpha=50us,beta=8ns,gamma=0.1ns" (start-up of a message; per byte sent; per byte combined), or
 * "@FILE", a file that `latecomer calibrate` wrote. NULL: the default, which communicators have from
 * the start: that of the environment variable LATECOMER_NETWORK, which must be set alike on all
 * ranks, else the built-in one. Local.
 *
 * MPI_ERR_ARG if the text cannot be read. */
LATECOMER_API int latecomer_set_network(MPI_Comm comm, const char* network);

/* How long a call waits without progress before it reports whom it waits for: seconds, 30 unless
 * told. The report is repeated at doubling intervals. Local.
 *
 * MPI_ERR_ARG unless seconds is above 0. */
LATECOMER_API int latecomer_set_long_wait(MPI_Comm comm, double seconds);

/* Calls on one communicator since it was made, by what became of them. */
typedef struct latecomer_stats {
  uint64_t handled; /* carried out by latecomer */
  uint64_t native;  /* by the MPI library, since that was chosen */
  uint64_t failed;  /* ended with an error while latecomer handled them */
  /* By the MPI library, though another algorithm was chosen, because ... */
  uint64_t fallback_arguments; /* its own error message is wanted: wrong arguments */
  uint64_t fallback_intercommunicator;
  uint64_t fallback_trivial;  /* no elements, or one rank */
  uint64_t fallback_type;     /* operator and datatype do not go together, or empty type */
  uint64_t fallback_operator; /* the algorithm needs a commutative operator */
  uint64_t fallback_plan;     /* the algorithm refused the problem otherwise */
  /* Operations (messages, combinations) that the progress thread finished before this rank
   * arrived in their calls. */
  uint64_t before_arrival;
} latecomer_stats;

/* MPI_ERR_ARG if stats is NULL. Local. */
LATECOMER_API int latecomer_get_stats(MPI_Comm comm, latecomer_stats* stats);

/* The parameters that the last handled call on this communicator used, "segments=64"; "" if there
 * were none. At most size - 1 characters and a final 0 are written. Local.
 *
 * MPI_ERR_ARG if text is NULL or size 0. */
LATECOMER_API int latecomer_get_parameters(MPI_Comm comm, char* text, size_t size);

/* How far this rank's idea of the common time, by which arrivals are compared, is from rank 0's
 * clock at most: seconds. The ideas of two ranks differ by the sum of theirs at most. It grows
 * until the clocks are compared again; 0 where the rank reads the same clock as rank 0, infinite
 * while the ranks of this communicator have no common clock. Holds for clocks that keep within
 * 100 ppm of the right rate. Local.
 *
 * MPI_ERR_ARG if seconds is NULL. */
LATECOMER_API int latecomer_get_clock_error(MPI_Comm comm, double* seconds);

#ifdef __cplusplus
}
#endif

#endif /* LATECOMER_LATECOMER_MPI_H */
