/* latecomer_mpi.h: collectives for ranks that do not arrive together, with MPI's argument lists.
 *
 * Link with the library of your MPI family (liblatecomer_mpi_<family>). What latecomer cannot or
 * should not handle goes to the MPI library's own collective, on all ranks alike;
 * latecomer_get_stats() tells how often and why.
 *
 * LATECOMER_PROGRESS=thread in the environment of all ranks, with MPI_Init_thread and
 * MPI_THREAD_MULTIPLE: one thread a process receives and reduces for all its communicators while
 * the program computes, where calls have built-in operators and types and long vectors. Default:
 * none. What cannot be used is reported on stderr, once, and changes nothing.
 *
 * Errors. Collectives return MPI's codes, through the communicator's error handler as MPI's own
 * do. The functions that configure return MPI_SUCCESS or MPI_ERR_ARG (MPI_ERR_COMM for a
 * communicator that they do not serve, MPI_ERR_NO_MEM without memory) and never call an error
 * handler; latecomer_last_error() holds the message. What error handlers
 * and operators of a C++ program throw passes through. Before MPI_Init and after MPI_Finalize, and
 * in programs that use sessions of MPI 4 without MPI_Init, collectives are the MPI library's own;
 * all other functions that take a communicator or start a request return MPI_ERR_OTHER and call no
 * handler.
 *
 * Buffers must be in memory that the processor can read and write: memory of a GPU is not looked
 * for, and a call with such a buffer fails where the processor has no access.
 *
 * Threads. With MPI_THREAD_MULTIPLE, threads may call at the same time on different communicators.
 */
#ifndef LATECOMER_LATECOMER_MPI_H
#define LATECOMER_LATECOMER_MPI_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "latecomer/latecomer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* MPI's collectives with the algorithm chosen for the communicator, MPI's argument lists and
 * meaning. Where data are only moved, datatypes with holes are packed first.
 *
 * The first such call after latecomer_set_algorithm, latecomer_set_estimate or
 * latecomer_set_reproducible compares what each rank sets for itself and all must set alike: the
 * network, what the environment says, the library's version. Where something differs, the MPI
 * library's own collective serves all ranks, rank 0 says on stderr what it is, and
 * latecomer_stats.fallback_settings counts.
 *
 * If ranks turn out to follow different plans (different arrivals were given, or different networks
 * after that comparison), at least one of them gets an error of a class of its own, described by
 * MPI_Error_string and latecomer_last_error(); the others are told, in the call or, if their part
 * in it is over, in the next one. Where a call fails on one rank for another reason (no memory, an
 * operator that throws), the others get an error of this class too. An operator must not leave a
 * call by longjmp. After any error in a handled call the communicator is of no
 * further use to latecomer: later calls on it fail at once. A long wait for another rank is
 * reported on stderr and goes on.
 *
 * MPI demands that all ranks of a broadcast give as many bytes as the root. A program whose other
 * ranks give more is wrong; some MPI libraries let it pass. In a broadcast that latecomer carries
 * out, such ranks follow different plans: the call ends in the error above.
 *
 * In an all-reduce that latecomer carries out all ranks get the same bits, unless you choose
 * "generalized:rounding=any". The next call with the same data may give other bits, where these
 * depend on the order of combining, as in sums of floating-point numbers: "auto" changes between
 * algorithms, the MPI library's own among them, and some algorithms follow the arrivals. If you
 * need the same bits in every call, use latecomer_set_reproducible. */
LATECOMER_API int latecomer_allreduce(const void* sendbuf, void* recvbuf, int count,
                                      MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
LATECOMER_API int latecomer_reduce(const void* sendbuf, void* recvbuf, int count,
                                   MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm);
LATECOMER_API int latecomer_bcast(void* buffer, int count, MPI_Datatype datatype, int root,
                                  MPI_Comm comm);
LATECOMER_API int latecomer_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                      void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                      MPI_Comm comm);
LATECOMER_API int latecomer_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                       void* recvbuf, const int recvcounts[], const int displs[],
                                       MPI_Datatype recvtype, MPI_Comm comm);
LATECOMER_API int latecomer_gather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                   void* recvbuf, int recvcount, MPI_Datatype recvtype, int root,
                                   MPI_Comm comm);
LATECOMER_API int latecomer_scatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                    void* recvbuf, int recvcount, MPI_Datatype recvtype, int root,
                                    MPI_Comm comm);

/* A persistent call: announced once, then started and waited for again and again. */
typedef struct latecomer_request_s* latecomer_request;
#define LATECOMER_REQUEST_NULL ((latecomer_request)0)

/* Announces a call with these arguments and makes a request of it. Local; like MPI's own it
 * is to be called in the same order on all ranks. The call is planned here, so that the first start
 * costs nothing (where arrivals that are expected change, it is planned anew). Buffers, datatype
 * and operator must live until the request is freed; `info` is not used. Wrong arguments get the
 * MPI library's own error from latecomer_wait.
 *
 * MPI_ERR_COMM for MPI_COMM_NULL, MPI_ERR_ARG if request is NULL. */
LATECOMER_API int latecomer_allreduce_init(const void* sendbuf, void* recvbuf, int count,
                                           MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                           MPI_Info info, latecomer_request* request);
LATECOMER_API int latecomer_reduce_init(const void* sendbuf, void* recvbuf, int count,
                                        MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm,
                                        MPI_Info info, latecomer_request* request);
LATECOMER_API int latecomer_bcast_init(void* buffer, int count, MPI_Datatype datatype, int root,
                                       MPI_Comm comm, MPI_Info info, latecomer_request* request);
LATECOMER_API int latecomer_allgather_init(const void* sendbuf, int sendcount,
                                           MPI_Datatype sendtype, void* recvbuf, int recvcount,
                                           MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                           latecomer_request* request);
LATECOMER_API int latecomer_allgatherv_init(const void* sendbuf, int sendcount,
                                            MPI_Datatype sendtype, void* recvbuf,
                                            const int recvcounts[], const int displs[],
                                            MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                            latecomer_request* request);
LATECOMER_API int latecomer_gather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                        void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                        int root, MPI_Comm comm, MPI_Info info,
                                        latecomer_request* request);
LATECOMER_API int latecomer_scatter_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                         void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                         int root, MPI_Comm comm, MPI_Info info,
                                         latecomer_request* request);

/* Starts the call: from here until latecomer_wait the buffers belong to it. Local: it moves no
 * data. Requests of a communicator and its collectives must be started in the same order on all
 * ranks.
 *
 * MPI_ERR_REQUEST, through no error handler and without any change: for LATECOMER_REQUEST_NULL, for
 * a request that was started and not waited for since, or whose communicator was freed. */
LATECOMER_API int latecomer_start(latecomer_request* request);

/* Carries out the call and those started on the communicator before it, in the order of their
 * starts; other collective functions of this header on the communicator do that first, too.
 * Between start and wait a rank must not wait for others in any other way: there is nothing that
 * would carry out its part meanwhile. A rank arrives in a call when it begins to carry it out.
 * Returns what the collective itself would, through the communicator's error handler; at once
 * MPI_SUCCESS where the request was not started.
 *
 * MPI_ERR_REQUEST, through no error handler: for LATECOMER_REQUEST_NULL, or if the communicator was
 * freed since the start. */
LATECOMER_API int latecomer_wait(latecomer_request* request);

/* Frees the request, which becomes LATECOMER_REQUEST_NULL. Local.
 *
 * MPI_ERR_REQUEST, and no change, for LATECOMER_REQUEST_NULL or a request that was started and not
 * waited for since. */
LATECOMER_API int latecomer_request_free(latecomer_request* request);

/* Chooses the algorithm of one collective on this communicator, of latecomer_allgatherv that of
 * "allgather": "ring", "prereduced_ring:segments=64", ... (`latecomer algorithms` lists them);
 * "auto" chooses call by call, for the arrivals that are expected, among them and the MPI library's
 * own collective, and learns from what calls took. Until then it is "native". Collective over the
 * communicator; the first time it makes another communicator beside it, which later ones of the
 * same ranks take over; for "auto" that is made when calls have taken long enough to be worth it.
 * Until then the MPI library carries them out; calls of rooted collectives below 64 KiB, or of two
 * ranks, it always does. Freeing a communicator waits for no other rank.
 *
 * MPI_ERR_ARG on every rank, and no change, if any rank's text cannot be read or the ranks' texts
 * differ in meaning. MPI_ERR_COMM for an intercommunicator. */
LATECOMER_API int latecomer_set_algorithm(MPI_Comm comm, const char* collective,
                                          const char* algorithm);

/* When each rank will enter the next collectives: seconds after any common instant, one entry a
 * rank, EQUAL ON ALL RANKS: exchange local measurements first, with MPI_Allgather for instance.
 * NULL forgets them, whatever `ranks` is: all are expected together. Local; not while a request is
 * started. Ranks that were given different times follow different plans; the next call then ends
 * with an error for those that wait, at the latest when some waits were reported
 * (latecomer_set_long_wait). A rank whose part in the call is over finds out in its next one.
 *
 * MPI_ERR_ARG if `ranks` is not the communicator's size, a time is not finite, a request is
 * started or the estimate is "online". */
LATECOMER_API int latecomer_set_arrivals(MPI_Comm comm, const double* seconds, int ranks);

/* Where the arrivals that calls are planned with come from: "given", by latecomer_set_arrivals,
 * which is so until told otherwise; or "online": latecomer notes when each rank enters each call,
 * tells all ranks of it along with the call's own messages, and expects the next call to be like
 * the last ones. The messages of a rooted collective do not reach all ranks: there all ranks tell
 * each other after every eighth call, which then waits for the last rank; under "auto" only of
 * calls of at least 64 KiB. Collective over the communicator.
 *
 * MPI_ERR_ARG on every rank, and no change, for another text or where the ranks' texts differ. */
LATECOMER_API int latecomer_set_estimate(MPI_Comm comm, const char* estimate);

/* When each rank entered the last handled call (`last`) and is expected to enter the next one like
 * it (`expected`): seconds after the earliest, one entry a rank; either may be NULL. All 0 where
 * nothing is known. Only while the estimate is "online". Local.
 *
 * MPI_ERR_ARG if the estimate is not "online" or `ranks` is not the communicator's size. */
LATECOMER_API int latecomer_get_pattern(MPI_Comm comm, double* last, double* expected, int ranks);

/* A computing phase before the next collective on this communicator, so that latecomer need not
 * wait for it to end to know when it will. begin: it begins now. progress: `fraction` of its work
 * is done, from 0 to 1, more at each call: when the rank will arrive is extrapolated from the time
 * so far. end: it is over. With a progress thread (LATECOMER_PROGRESS=thread) and the estimate
 * "online" the other ranks are told; without a thread each of these gives MPI a chance to move
 * messages, and no more. Local, short, and in no case needed for right results.
 *
 * MPI_ERR_ARG if `fraction` is not within 0 and 1 or not above the last one, or there was no
 * begin. */
LATECOMER_API int latecomer_compute_begin(MPI_Comm comm);
LATECOMER_API int latecomer_compute_progress(MPI_Comm comm, double fraction);
LATECOMER_API int latecomer_compute_end(MPI_Comm comm);
/* Deprecated, for one more release: the old name of latecomer_compute_progress. */
LATECOMER_API int latecomer_edge(MPI_Comm comm, double fraction);

/* What transfers cost on this communicator's network, equal on all ranks:
 * "alpha=50us,beta=8ns,gamma=0.1ns" (start-up of a message; per byte sent; per byte combined), or
 * "@FILE", a file that `latecomer calibrate` wrote. NULL: the default, which communicators have
 * from the start: that of the environment variable LATECOMER_NETWORK, else the built-in one. Local;
 * not while a request is started. Different networks are found out in the first handled
 * call; those that are set later than that end in the error of different plans where each rank
 * plans for itself and plans depend on them. Where a progress thread works, calls
 * that it prepares follow rank 0's plan on all ranks.
 *
 * MPI_ERR_ARG if the text cannot be read or a request is started. */
LATECOMER_API int latecomer_set_network(MPI_Comm comm, const char* network);

/* Reproducible mode, 1, or 0, which is so from the start unless the environment variable
 * LATECOMER_REPRODUCIBLE is 1. In it a handled call's order of combining, and what algorithms
 * choose by themselves, depend on the number of ranks, the count, the datatype, the operator, the
 * algorithm that was set and the library's version alone: arrivals, given or observed, and
 * networks, set or of the environment, are not used (plans assume the built-in network). So results
 * are the same bits from run to run. It promises nothing for calls that the MPI library carries out
 * (latecomer_stats counts them): their order is that library's. Arrival-aware algorithms take all
 * ranks to arrive together in it. Collective over the communicator.
 *
 * MPI_ERR_ARG on every rank, and no change, for another number or where the ranks' numbers differ.
 */
LATECOMER_API int latecomer_set_reproducible(MPI_Comm comm, int on);

/* How long a call waits without progress before it reports whom it waits for: seconds, 30 unless
 * told. The report is repeated at doubling intervals. Not of calls that the MPI library carries
 * out, such as those for which "auto" chose it. Local.
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
  uint64_t fallback_settings; /* what must be set alike on all ranks differs */
  /* Operations (messages, combinations) that the progress thread finished before this rank
   * arrived in their calls. */
  uint64_t before_arrival;
} latecomer_stats;

/* MPI_ERR_ARG if stats is NULL. Local. */
LATECOMER_API int latecomer_get_stats(MPI_Comm comm, latecomer_stats* stats);

/* Sums over calls, in seconds. One in eight of the MPI library's calls below 20 us is timed, and
 * stands for those after it. */
typedef struct latecomer_times {
  double inside;  /* of all calls: from this rank's arrival to its exit */
  uint64_t told;  /* calls whose last arrival is known: estimate "online", or algorithm "auto" */
  double waiting; /* of the told ones: from this rank's arrival to the last rank's */
  double moving;  /* of the told ones: from the last rank's arrival to this rank's exit */
} latecomer_times;

/* How many calls were carried out in one way. */
typedef struct latecomer_choice_stats {
  char algorithm[32];  /* "ring"; "native": by the MPI library, for whatever reason */
  char parameters[96]; /* as latecomer_get_parameters tells them; cut to fit */
  uint64_t calls;
} latecomer_choice_stats;

#define LATECOMER_MAX_KEYS 64
#define LATECOMER_MAX_CHOICES 8
#define LATECOMER_MAX_SITES 256
/* Deprecated, for one more release: the old names of these constants. */
#define LATECOMER_MOST_KEYS LATECOMER_MAX_KEYS
#define LATECOMER_MOST_CHOICES LATECOMER_MAX_CHOICES
#define LATECOMER_MOST_SITES LATECOMER_MAX_SITES

/* The calls of one key: alike in all that MPI guarantees equal on all ranks. */
typedef struct latecomer_key_stats {
  char collective[16]; /* "allreduce", ...; "": calls of all further keys, counted together */
  uint64_t bytes;      /* of the whole vector; 0 also for wrong arguments */
  int32_t commutative; /* 0 or 1: the operator */
  int32_t exact;       /* 0 or 1: it gives the same bits in whatever order */
  /* The place in the period of the communicator's calls, where the key has several: position (from
   * 0) of period; period 0: the key has one, or the estimate is not "online". */
  int32_t period;
  int32_t position;
  latecomer_stats calls; /* by what became of them */
  latecomer_times times;
  /* Of the calls that ended well, in the order of their first use. */
  int32_t choice_count;
  int32_t last_choice; /* index of the last call's; -1: none, or among other_choices */
  latecomer_choice_stats choices[LATECOMER_MAX_CHOICES];
  uint64_t other_choices; /* calls with further ones */
  /* Of the calls for which arrivals were expected by estimate "online": the sum of the mean over
   * the ranks of |expected - actual| arrival, both after the earliest. Of calls that rank 0
   * announces for a progress thread, only rank 0 knows. */
  uint64_t estimated;
  double estimate_error;
} latecomer_key_stats;

/* The calls from one place of the program, for reports: ranks may call from different ones. */
typedef struct latecomer_site_stats {
  const void* address; /* where the call returns to; NULL: all further places, counted together */
  latecomer_stats calls;
  latecomer_times times;
} latecomer_site_stats;

/* How many keys and sites there are statistics of on this communicator, those that are counted
 * together included; either may be NULL. Local. */
LATECOMER_API int latecomer_count_stats(MPI_Comm comm, int* keys, int* sites);

/* The index-th of them, in the order of their first call; kept are the first LATECOMER_MAX_KEYS
 * and LATECOMER_MAX_SITES, the last entry after them counts all further ones together. With the
 * environment variable LATECOMER_STATS=1 rank 0 of MPI_COMM_WORLD prints them for all its
 * communicators on stderr in MPI_Finalize; LATECOMER_STATS=FILE writes them to a file instead, as
 * JSON if its name ends in .json. In the name %r becomes the rank in MPI_COMM_WORLD, %p the process
 * id and %j the job (as PMIx, Slurm, PBS or LSF call it, else the id of the process that started
 * this one); with %r or %p all ranks write theirs. A file that is there is replaced, a link or a
 * device is not written to. Local.
 *
 * MPI_ERR_ARG if there is no such index or stats is NULL. */
LATECOMER_API int latecomer_get_key_stats(MPI_Comm comm, int index, latecomer_key_stats* stats);
LATECOMER_API int latecomer_get_site_stats(MPI_Comm comm, int index, latecomer_site_stats* stats);

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
