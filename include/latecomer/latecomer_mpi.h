/* latecomer_mpi.h: MPI collectives that are fast when ranks do not arrive together.
 *
 *     #include <latecomer/latecomer_mpi.h>
 *
 *     static float mine[1 << 20], sum[1 << 20];
 *
 *     int main(int argc, char** argv) {
 *       MPI_Init(&argc, &argv);
 *       latecomer_set_algorithm(MPI_COMM_WORLD, "allreduce", "auto");
 *       latecomer_set_estimate(MPI_COMM_WORLD, "online");
 *       for (int step = 0; step < 100; ++step) {
 *         // compute here: some ranks take longer than others
 *         latecomer_allreduce(mine, sum, 1 << 20, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
 *       }
 *       return MPI_Finalize();
 *     }
 *
 * Link with the library of your MPI family: liblatecomer_openmpi.so or liblatecomer_mpich.so, or
 * the one that ends in .a, -lstdc++ and -lm (docs/install.md).
 *
 * 1. Handled calls. A call is handled if latecomer carries it out. Before latecomer_set_algorithm
 *    no call is. The MPI library's own collective carries out all others, on all ranks alike;
 *    latecomer_get_stats counts them by reason. Results are MPI's in either case. Calls with
 *    buffers in the memory of a GPU are left to the MPI library: see fallback_device.
 * 2. Equal on all ranks. "Collective" below: all ranks of the communicator must call the function,
 *    in the same order as its other collective calls. "Local": a rank may call it alone. The values
 *    given to latecomer_set_arrivals and latecomer_set_network, and the environment variables
 *    LATECOMER_*, must nevertheless be equal on all ranks. Rank 0 reports different networks,
 *    modes or library versions on stderr, and the MPI library then carries out all calls.
 * 3. Errors. Collectives return MPI's codes, through the communicator's error handler. All other
 *    functions return MPI_SUCCESS or a code and call no error handler; latecomer_last_error() has
 *    the message. After MPI_ERR_ARG and MPI_ERR_REQUEST nothing has changed. Beside the codes
 * listed at each function they return MPI_ERR_COMM for MPI_COMM_NULL, MPI_ERR_NO_MEM without
 * memory, and, except latecomer_request_free, MPI_ERR_OTHER before MPI_Init, after MPI_Finalize and
 * in programs that use only sessions of MPI 4; collectives are the MPI library's own there.
 *    Exceptions of a C++ program's operators and error handlers pass through.
 * 4. Threads. With MPI_THREAD_MULTIPLE, threads may call at the same time on different
 *    communicators. LATECOMER_PROGRESS=thread adds one progress thread for each process, which
 *    receives and reduces long vectors of built-in types and operators while the program computes.
 *    It needs MPI_THREAD_MULTIPLE on all ranks; otherwise rank 0 says once on stderr that there is
 *    none.
 * 5. Nodes. Ranks of one machine share memory in algorithms that use it ("nodes"), from the first
 * call on that does. LATECOMER_NODES=off keeps all ranks apart; a whole number K, in digits and
 * from 1 to 2147483647, makes nodes of K ranks each, for tests. Where memory cannot be shared rank
 * 0 says so on stderr, and the ranks do without.
 * 6. Lifetime. Settings and statistics belong to one communicator and end with it; MPI_Comm_dup
 *    does not copy them. A later communicator of the same ranks takes over the knowledge of earlier
 *    calls. Freeing a communicator waits for no other rank. Buffers, arrays of counts and
 *    displacements, datatype and operator of a request must live until latecomer_request_free.
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

/* ---- Collectives ----
 *
 * Each does the same as MPI's function of that name, with the algorithm set for the communicator.
 *
 * In a handled all-reduce all ranks get the same bits, unless the algorithm is
 * "generalized:rounding=any" or ranks have set different rounding modes. The next call with the
 * same data may give other bits, since the order of combining may change;
 * latecomer_set_reproducible prevents this. Among MPI's own operators these are sums and products
 * of floating-point numbers, maxima and minima of NaNs and zeros, and with Open MPI sums of 8- or
 * 16-bit integers that leave their range, which saturate.
 *
 * The first call after a collective function of "Settings" compares the settings of rule 2.
 *
 * Returns MPI's codes. A handled call also fails
 * - with an error class of its own (MPI_Error_string describes it) if ranks turn out to follow
 *   different plans: at least one rank gets the error in this call, the others in this call or
 *   in their next one. Causes: latecomer_set_arrivals got different times; networks were changed
 *   after they were compared; a broadcast's ranks give other sizes than the root, which MPI
 *   forbids although some libraries let it pass;
 * - with the same class on the other ranks if one rank fails (no memory, an operator that throws).
 * After an error of a handled call, later calls on this communicator fail at once.
 *
 * An operator must not leave a call by longjmp. A long wait for another rank is reported on stderr
 * and goes on (latecomer_set_long_wait). */
/* Combines `count` elements of all ranks; every rank gets the result. */
LATECOMER_API int latecomer_allreduce(const void* sendbuf, void* recvbuf, int count,
                                      MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
/* Combines `count` elements of all ranks; rank `root` gets the result. */
LATECOMER_API int latecomer_reduce(const void* sendbuf, void* recvbuf, int count,
                                   MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm);
/* Sends `count` elements of rank `root` to all ranks. */
LATECOMER_API int latecomer_bcast(void* buffer, int count, MPI_Datatype datatype, int root,
                                  MPI_Comm comm);
/* Collect the elements of all ranks in rank order on every rank; v: of different numbers. */
LATECOMER_API int latecomer_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                      void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                      MPI_Comm comm);
LATECOMER_API int latecomer_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                       void* recvbuf, const int recvcounts[], const int displs[],
                                       MPI_Datatype recvtype, MPI_Comm comm);
/* Collects `sendcount` elements of each rank in rank order on rank `root`. */
LATECOMER_API int latecomer_gather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                   void* recvbuf, int recvcount, MPI_Datatype recvtype, int root,
                                   MPI_Comm comm);
/* Sends each rank its `recvcount` elements of rank `root`'s buffer. */
LATECOMER_API int latecomer_scatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                    void* recvbuf, int recvcount, MPI_Datatype recvtype, int root,
                                    MPI_Comm comm);

/* ---- Persistent calls: announced once, then started and waited for many times ---- */

typedef struct latecomer_request_s* latecomer_request;
#define LATECOMER_REQUEST_NULL ((latecomer_request)0)

/* Each makes a request for one collective with these arguments, and plans the call, so that the
 * first start need not. Local; all ranks must make the requests of a communicator in the same
 * order, as MPI demands for its own. `info` is not used. Wrong arguments get the MPI library's
 * error from latecomer_wait.
 * Fails with MPI_ERR_ARG if request is NULL. */
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

/* Starts the call. Local: it moves no data. From here until latecomer_wait the buffers belong to
 * the call. All ranks must start the requests of a communicator, and call its collectives, in the
 * same order.
 * Fails with MPI_ERR_REQUEST for LATECOMER_REQUEST_NULL, for a request that was started and not
 * waited for since, and for one whose communicator was freed. */
LATECOMER_API int latecomer_start(latecomer_request* request);

/* Carries out the call, after all calls that were started on the communicator before it. The other
 * collective functions of this header do that first, too. Between start and wait a rank must not
 * wait for other ranks in any other way, since nothing carries out its part of the call meanwhile.
 * A rank arrives in the call when it begins to carry it out.
 * Returns the collective's code, through the communicator's error handler, or MPI_SUCCESS at once
 * if the request was not started. Fails with MPI_ERR_REQUEST for LATECOMER_REQUEST_NULL and if the
 * communicator was freed since the start, through no error handler. */
LATECOMER_API int latecomer_wait(latecomer_request* request);

/* Frees the request and sets it to LATECOMER_REQUEST_NULL. Local.
 * Fails with MPI_ERR_REQUEST for LATECOMER_REQUEST_NULL and for a request that was started and not
 * waited for since. */
LATECOMER_API int latecomer_request_free(latecomer_request* request);

/* ---- Settings of a communicator ---- */

/* Sets the algorithm of one collective. Collective.
 * - collective: "allreduce", "reduce", "bcast", "allgather" (also of latecomer_allgatherv),
 *   "gather" or "scatter".
 * - algorithm: a name with parameters, as in "prereduced_ring:segments=64" (`latecomer algorithms`
 *   lists them); "native", the MPI library's collective, which every communicator has at first;
 *   or "auto", which chooses one for each call, for the expected arrivals and by the times of
 *   earlier calls. "auto" uses the MPI library's collective until calls have taken long enough to
 *   be worth a choice, and always for rooted collectives below 64 KiB or of two ranks. Rules in
 *   the file that LATECOMER_RULES names come before that choice (docs/rules.md); it begins with
 *   what is in the file that LATECOMER_WISDOM names (docs/dropin.md). For tests,
 *   "auto:random=7" takes an algorithm at random in each call, alike on all ranks; 7 is the seed.
 * The first handled algorithm makes a second communicator of the same ranks, which later
 * communicators of these ranks take over; "auto" makes it when calls have become worth it.
 * Fails with MPI_ERR_ARG on every rank if any rank's text cannot be read or the texts differ in
 * meaning, and with MPI_ERR_COMM for an intercommunicator. */
LATECOMER_API int latecomer_set_algorithm(MPI_Comm comm, const char* collective,
                                          const char* algorithm);

/* Sets the source of the arrivals that calls are planned with. Collective.
 * - estimate: "given", by latecomer_set_arrivals, which every communicator has at first; or
 *   "online": latecomer observes when each rank enters each call, sends these times along with the
 *   call's own messages, and expects the next call to be like the last ones.
 * In rooted collectives under "online" all ranks exchange their times after every eighth call,
 * which then waits for the last rank; under "auto", from 64 KiB and up to 128 ranks, a rank waits
 * only for one that is a block of calls behind.
 * Fails with MPI_ERR_ARG on every rank for another text and where the ranks' texts differ, and with
 * MPI_ERR_COMM for an intercommunicator. */
LATECOMER_API int latecomer_set_estimate(MPI_Comm comm, const char* estimate);

/* Sets when each rank is expected to enter the next collectives. Local, with EQUAL TIMES ON ALL
 * RANKS: exchange local measurements first, for instance with MPI_Allgather.
 * - seconds: one time for each rank, after any common instant; NULL: all arrive together.
 * - ranks: the size of the communicator; not used with NULL.
 * Where times differ between ranks, the next call fails on the ranks that wait for each other, at
 * the latest after some reports of latecomer_set_long_wait, and on the others in their next call.
 * Fails with MPI_ERR_ARG if `ranks` is not the communicator's size, a time is not finite, a request
 * is started, or the estimate is "online". */
LATECOMER_API int latecomer_set_arrivals(MPI_Comm comm, const double* seconds, int ranks);

/* Sets the costs of messages that calls are planned with. Local, with equal costs on all ranks.
 * - network: "alpha=50us,beta=8ns,gamma=0.1ns" (start-up of a message, time for each byte sent, and
 *   for each byte combined), or "@FILE" with a file that `latecomer calibrate` wrote. NULL: the
 *   costs that communicators have at first, those of LATECOMER_NETWORK, else the built-in ones.
 * The first handled call finds different networks (rule 2). Networks that are set differently
 * later end calls with the error of different plans, where plans depend on them. Under "auto" a
 * network that is set later counts once all ranks have set it and compared the durations of their
 * calls, which takes up to some hundred calls. Calls that a progress thread prepares follow rank
 * 0's plan on all ranks.
 * Fails with MPI_ERR_ARG if the text cannot be read or a request is started. */
LATECOMER_API int latecomer_set_network(MPI_Comm comm, const char* network);

/* Turns reproducible mode on (1) or off (0). Collective. It is off at first, unless
 * LATECOMER_REPRODUCIBLE=1. In it results of handled calls are the same bits from run to run: the
 * order of combining depends on the number of ranks, count, datatype, operator, algorithm, whether
 * the call is in place, and the library's version alone. Plans assume that all ranks arrive
 * together on the built-in network. It promises nothing for calls that the MPI library carries out.
 * Fails with MPI_ERR_ARG on every rank for another number and where the ranks' numbers differ, and
 * with MPI_ERR_COMM for an intercommunicator. */
LATECOMER_API int latecomer_set_reproducible(MPI_Comm comm, int on);

/* Sets how long a handled call waits without progress before it reports on stderr which rank it
 * waits for: `seconds`, 30 at first. The report is repeated at doubling intervals. Local.
 * Fails with MPI_ERR_ARG unless seconds is above 0. */
LATECOMER_API int latecomer_set_long_wait(MPI_Comm comm, double seconds);

/* Tell how far the computation before the next collective is: begin: it begins now; progress:
 * `fraction` of it is done, from 0 to 1 and more at each call; end: it is over. With a progress
 * thread and the estimate "online" the other ranks then know earlier when this rank will arrive;
 * otherwise these only give MPI a chance to move messages. Local; results are right without them.
 * Fail with MPI_ERR_ARG if `fraction` is not within 0 and 1 or not above the last one, or without a
 * begin. */
LATECOMER_API int latecomer_compute_begin(MPI_Comm comm);
LATECOMER_API int latecomer_compute_progress(MPI_Comm comm, double fraction);
LATECOMER_API int latecomer_compute_end(MPI_Comm comm);
LATECOMER_API int latecomer_edge(MPI_Comm comm, double fraction); /* old name, deprecated */

/* ---- Arrivals, statistics ---- All these functions are local. ---- */

/* Gets when each rank entered the last handled call, and when it is expected to enter the next call
 * like it.
 * - last, expected: `ranks` seconds each, after the earliest; all 0 if nothing is known. Either may
 *   be NULL.
 * - ranks: the size of the communicator.
 * Fails with MPI_ERR_ARG if the estimate is not "online" or `ranks` is another number. */
LATECOMER_API int latecomer_get_pattern(MPI_Comm comm, double* last, double* expected, int ranks);

/* Gets for each rank in how many calls it was the last to arrive, of the calls whose arrivals are
 * known (`told` below).
 * - calls: `ranks` numbers, 0 where no arrivals are known yet.
 * - ranks: the size of the communicator.
 * Fails with MPI_ERR_ARG if calls is NULL or `ranks` is another number. */
LATECOMER_API int latecomer_get_last_to_arrive(MPI_Comm comm, uint64_t* calls, int ranks);

/* Counts of the calls on one communicator since it was made: each call is in one of these. */
typedef struct latecomer_stats {
  uint64_t handled; /* carried out by latecomer */
  uint64_t native;  /* carried out by the MPI library, since "native" was set or "auto" chose it */
  uint64_t failed;  /* ended with an error while latecomer handled them */
  /* Carried out by the MPI library although another algorithm was set, because of */
  uint64_t fallback_arguments;         /* wrong arguments: the error message is MPI's own */
  uint64_t fallback_intercommunicator; /* an intercommunicator */
  uint64_t fallback_trivial;           /* no elements, or one rank */
  uint64_t fallback_type;     /* an operator that does not go with the datatype, an empty type, or
                                 elements that span over 64 MiB and 16 times their data */
  uint64_t fallback_operator; /* an operator that does not commute, which the algorithm needs */
  uint64_t fallback_plan;     /* another reason for which the algorithm refuses the call */
  uint64_t fallback_settings; /* settings that differ between ranks (rule 2) */
  uint64_t fallback_link;   /* drop-in library: no call yet in which all ranks wait for each other,
                               and could have been linked */
  uint64_t fallback_device; /* a rank passes memory of a CUDA, HIP or Level Zero device: from when
                               the ranks have told each other. Earlier such calls are handled, with
                               copies in host memory that the MPI library makes */
  /* Not calls, but messages and combinations of programs that the progress thread finished before
   * this rank arrived in their calls. Protocols such as online_owners add nothing: before its
   * arrival a rank moves no data for them. */
  uint64_t before_arrival;
} latecomer_stats;

/* Gets the counts. Fails with MPI_ERR_ARG if stats is NULL. */
LATECOMER_API int latecomer_get_stats(MPI_Comm comm, latecomer_stats* stats);

/* Sums of times over calls, in seconds. Of the MPI library's calls below 20 us one in eight is
 * timed, and stands for the others. */
typedef struct latecomer_times {
  double inside;  /* from this rank's arrival to its exit, all calls */
  uint64_t told;  /* number of calls whose last arrival is known (estimate "online", or "auto") */
  double waiting; /* from this rank's arrival to the last one before its exit, of these */
  double moving;  /* from then to its exit */
} latecomer_times;

/* Count of the calls that one algorithm carried out. */
typedef struct latecomer_choice_stats {
  char algorithm[32];  /* "ring"; "native": the MPI library, for whatever reason */
  char parameters[96]; /* as of latecomer_get_parameters; cut to fit */
  uint64_t calls;
} latecomer_choice_stats;

#define LATECOMER_MAX_KEYS 64
#define LATECOMER_MAX_CHOICES 8
#define LATECOMER_MAX_SITES 256

/* Statistics of the calls of one key: of calls that are equal in collective, operator, root, size
 * and all else that MPI guarantees equal on all ranks. */
typedef struct latecomer_key_stats {
  char collective[16]; /* "allreduce", ...; "": calls of all further keys, counted together */
  uint64_t bytes;      /* size of the whole vector; 0 also for wrong arguments */
  int32_t commutative; /* 1: the operator commutes */
  int32_t exact;       /* 1: the operator gives the same bits in whatever order: bitwise ones */
  /* If calls come in a loop that has the key several times: the place in that loop, `position` from
   * 0 of `period` calls. period 0: the key comes once, or the estimate is not "online". */
  int32_t period;
  int32_t position;
  latecomer_stats calls;
  latecomer_times times;
  /* Algorithms of the calls that ended well, in the order of their first use. */
  int32_t choice_count;
  int32_t last_choice; /* index of the last call's; -1: none, or among other_choices */
  latecomer_choice_stats choices[LATECOMER_MAX_CHOICES];
  uint64_t other_choices; /* calls with further algorithms */
  /* Number of calls for which the estimate "online" expected arrivals, and the sum over them of the
   * mean over ranks of |expected - actual| in seconds, both after the earliest. Only rank 0 knows
   * those of calls that it announces for a progress thread. */
  uint64_t estimated;
  double estimate_error;
} latecomer_key_stats;

/* Statistics of the calls from one place of the program; ranks may call from different places. */
typedef struct latecomer_site_stats {
  const void* address; /* return address of the call; NULL: all further places together */
  latecomer_stats calls;
  latecomer_times times;
} latecomer_site_stats;

/* Gets the numbers of entries for the next two functions. Either pointer may be NULL. */
LATECOMER_API int latecomer_count_stats(MPI_Comm comm, int* keys, int* sites);

/* Get the statistics of the key or place number `index`, from 0, in the order of their first
 * call. The first LATECOMER_MAX_KEYS and LATECOMER_MAX_SITES are kept; one last entry counts all
 * further ones together.
 * Fail with MPI_ERR_ARG if there is no such index or stats is NULL.
 * LATECOMER_STATS=1 in the environment prints those of all communicators of rank 0 of
 * MPI_COMM_WORLD on stderr in MPI_Finalize. LATECOMER_STATS=FILE writes them to a file, as JSON if
 * its name ends in .json; %r in the name becomes the rank in MPI_COMM_WORLD, %p the process id and
 * %j the job's id (of PMIx, Slurm, PBS or LSF, else the id of the parent process). With %r or %p
 * every rank writes its file. An existing file is replaced, but no link or device is written to.
 * LATECOMER_TRACE=FOLDER writes each call's arrival and exit to FOLDER/rank-R.trace, which must not
 * exist; %j in it is as above. LATECOMER_TRACE_BYTES is the most that one file may take, from
 * 64KiB to 4GiB. `latecomer report FOLDER` reads them. */
LATECOMER_API int latecomer_get_key_stats(MPI_Comm comm, int index, latecomer_key_stats* stats);
LATECOMER_API int latecomer_get_site_stats(MPI_Comm comm, int index, latecomer_site_stats* stats);

/* Gets the parameters of the last handled call, as in "segments=64"; "" if it had none.
 * - text: room for `size` characters with the final 0; a longer text is cut.
 * Fails with MPI_ERR_ARG if text is NULL or size is 0. */
LATECOMER_API int latecomer_get_parameters(MPI_Comm comm, char* text, size_t size);

/* Gets an upper bound, in seconds, of the difference between this rank's common time, by which
 * arrivals are compared, and rank 0's clock: 0 if they are one clock, infinite without a common
 * time, growing until the clocks are compared again. It holds for clocks within 100 ppm.
 * Fails with MPI_ERR_ARG if seconds is NULL. */
LATECOMER_API int latecomer_get_clock_error(MPI_Comm comm, double* seconds);

/* Local. Ends the progress thread, if there is one, after the last collective call of this process.
 * A program that is linked with this library need not call it: the library has an MPI_Finalize that
 * does, and then calls the next MPI_Finalize. A program that loads the library at run time calls it
 * right before MPI_Finalize, because MPICH may abort in there while a thread is inside MPI. */
LATECOMER_API void latecomer_prepare_finalize(void);

#ifdef __cplusplus
}
#endif

#endif /* LATECOMER_LATECOMER_MPI_H */
