/* odd FOLDER [threads]: two ranks pass messages in all of MPI's ways. Each rank writes what it saw
 * to FOLDER/RANK.seen, which must be the same with and without the library, and what a trace must
 * hold to FOLDER/RANK.expected: a line for each message, in the order in which they were begun, and
 * the number of those that cannot be recorded. */
#include <mpi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { nonblocking = 1, persistent = 2, any_source = 4, any_tag = 8, matched = 16 };
enum { many = 40, large = 1 << 17 };

static FILE* seen;
static FILE* expected;
static int me, other, lost;
static MPI_Comm comm; /* named "mine" */
static double data[large], room[large];

static void say(const char* format, ...) {
  va_list words;
  va_start(words, format);
  vfprintf(seen, format, words);
  va_end(words);
}

/* Of the communicator of that name. */
static void expect_on(const char* name, const char* what, int flags, int peer, int tag,
                      long bytes) {
  fprintf(expected, "%s %s %d %d %d %ld\n", name, what, flags, peer, tag, bytes);
}
static void expect(const char* what, int flags, int tag, long bytes) {
  expect_on("mine", what, flags, other, tag, bytes);
}

static void say_status(const char* where, MPI_Status* status, MPI_Datatype type) {
  int count = -1, cancelled = 0;
  MPI_Test_cancelled(status, &cancelled);
  if (!cancelled) MPI_Get_count(status, type, &count);
  say("%s: from %d, tag %d, count %d, cancelled %d, error %d\n", where, status->MPI_SOURCE,
      status->MPI_TAG, count, cancelled != 0, status->MPI_ERROR);
}
static MPI_Status fresh_status(void) {
  MPI_Status status;
  memset(&status, 0, sizeof status);
  status.MPI_ERROR = 4711;
  return status;
}
static void say_code(const char* where, int code) {
  int class = 0;
  MPI_Error_class(code, &class);
  say("%s: %d\n", where,
      class == MPI_SUCCESS         ? 0
      : class == MPI_ERR_TRUNCATE  ? 1
      : class == MPI_ERR_IN_STATUS ? 2
      : class == MPI_ERR_RANK      ? 3
                                   : 4);
}
static void say_room(const char* where, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += room[i] * (i + 1);
  say("%s: %g\n", where, sum);
  memset(room, 0, sizeof(double) * (size_t)count);
}

/* ---- Blocking ---- */

static void blocking(void) {
  MPI_Status status = fresh_status();
  if (me == 0) {
    char* const buffer = malloc(1 << 16);
    MPI_Send(data, 3, MPI_DOUBLE, 1, 5, comm);
    expect("send", 0, 5, 24);
    MPI_Ssend(data, 0, MPI_INT, 1, 6, comm);
    expect("synchronous_send", 0, 6, 0);
    MPI_Buffer_attach(buffer, 1 << 16);
    MPI_Bsend(data, 10, MPI_FLOAT, 1, 7, comm);
    expect("buffered_send", 0, 7, 40);
    int size = 0;
    void* old;
    MPI_Buffer_detach(&old, &size);
    free(buffer);
    MPI_Recv(NULL, 0, MPI_INT, 1, 8, comm, MPI_STATUS_IGNORE); /* it is ready */
    expect("receive", 0, 8, 0);
    MPI_Rsend(data, 2, MPI_DOUBLE, 1, 9, comm);
    expect("ready_send", 0, 9, 16);
    MPI_Send(data, large, MPI_DOUBLE, 1, 10, comm);
    expect("send", 0, 10, 8L * large);
  } else {
    MPI_Request request;
    MPI_Recv(room, 5, MPI_DOUBLE, 0, 5, comm, &status);
    expect("receive", 0, 5, 24);
    say_status("recv", &status, MPI_DOUBLE);
    say_room("recv", 5);
    MPI_Recv(room, 5, MPI_INT, MPI_ANY_SOURCE, 6, comm, MPI_STATUS_IGNORE);
    expect("receive", any_source, 6, 0);
    MPI_Recv(room, 10, MPI_FLOAT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
    expect("receive", any_source | any_tag, 7, 40);
    say_status("recv any", &status, MPI_FLOAT);
    MPI_Irecv(room, 2, MPI_DOUBLE, 0, MPI_ANY_TAG, comm, &request);
    expect("receive", nonblocking | any_tag, 9, 16);
    MPI_Send(NULL, 0, MPI_INT, 0, 8, comm);
    expect("send", 0, 8, 0);
    MPI_Wait(&request, &status);
    say("null %d\n", request == MPI_REQUEST_NULL);
    say_status("wait", &status, MPI_DOUBLE);
    MPI_Recv(room, large, MPI_DOUBLE, 0, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
    expect("receive", any_tag, 10, 8L * large);
    say_room("large", large);
  }
}

static void to_nobody(void) {
  MPI_Status status = fresh_status();
  MPI_Request requests[3];
  MPI_Send(data, 3, MPI_DOUBLE, MPI_PROC_NULL, 5, comm);
  MPI_Recv(room, 3, MPI_DOUBLE, MPI_PROC_NULL, 5, comm, &status);
  say_status("nobody", &status, MPI_DOUBLE);
  MPI_Isend(data, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, comm, &requests[0]);
  MPI_Isend(data, 4, MPI_DOUBLE, other, 2, comm, &requests[1]);
  expect("send", nonblocking, 2, 32);
  MPI_Irecv(room, 1, MPI_DOUBLE, MPI_PROC_NULL, MPI_ANY_TAG, comm, &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  MPI_Sendrecv(data, 1, MPI_INT, other, 3, room, 1, MPI_INT, MPI_PROC_NULL, 3, comm, &status);
  expect("send", 0, 3, 4);
  say_status("half", &status, MPI_INT);
  MPI_Sendrecv(data, 1, MPI_INT, MPI_PROC_NULL, 3, room, 4, MPI_DOUBLE, other, 2, comm, &status);
  expect("receive", 0, 2, 32);
  say_status("other half", &status, MPI_DOUBLE);
  MPI_Recv(room, 1, MPI_INT, other, 3, comm, MPI_STATUS_IGNORE);
  expect("receive", 0, 3, 4);
  MPI_Probe(MPI_PROC_NULL, 3, comm, &status);
  MPI_Message message;
  MPI_Mprobe(MPI_PROC_NULL, 3, comm, &message, &status);
  say("no message %d\n", message == MPI_MESSAGE_NO_PROC);
  MPI_Mrecv(room, 1, MPI_INT, &message, &status);
  say_status("nobody's", &status, MPI_INT);
}

static void both_ways(void) {
  MPI_Status status = fresh_status();
  MPI_Sendrecv(data, 2 + me, MPI_DOUBLE, other, 1 + me, room, 9, MPI_DOUBLE, MPI_ANY_SOURCE,
               MPI_ANY_TAG, comm, &status);
  expect("send", 0, 1 + me, 8 * (2 + me));
  expect("receive", any_source | any_tag, 1 + other, 8 * (2 + other));
  say_status("sendrecv", &status, MPI_DOUBLE);
  say_room("sendrecv", 9);
  room[0] = me;
  MPI_Sendrecv_replace(room, 1, MPI_DOUBLE, other, 4, other, 4, comm, MPI_STATUS_IGNORE);
  expect("send", 0, 4, 8);
  expect("receive", 0, 4, 8);
  say_room("replace", 1);
}

static void to_myself(void) {
  MPI_Request request;
  MPI_Status status = fresh_status();
  MPI_Isend(data, 7, MPI_CHAR, 0, 3, MPI_COMM_SELF, &request);
  expect_on("MPI_COMM_SELF", "send", nonblocking, 0, 3, 7);
  MPI_Recv(room, 8, MPI_CHAR, 0, 3, MPI_COMM_SELF, &status);
  expect_on("MPI_COMM_SELF", "receive", 0, 0, 3, 7);
  say_status("self", &status, MPI_CHAR);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Sendrecv(data, 1, MPI_INT, me, 3, room, 1, MPI_INT, me, 3, comm, MPI_STATUS_IGNORE);
  expect_on("mine", "send", 0, me, 3, 4);
  expect_on("mine", "receive", 0, me, 3, 4);
}

/* ---- Ways to complete ---- */

enum way {
  waits,
  waits_for_all,
  waits_for_all_told,
  waits_for_any,
  waits_for_some,
  tests,
  tests_all,
  tests_all_told,
  tests_any,
  tests_some,
  ways
};
static const char* const names[ways] = {"wait", "waitall", "waitall told", "waitany", "waitsome",
                                        "test", "testall", "testall told", "testany", "testsome"};

static void complete_all(enum way way, int count, MPI_Request* requests) {
  MPI_Status* const statuses = calloc((size_t)count, sizeof *statuses);
  int* const indices = calloc((size_t)count, sizeof *indices);
  int index, flag = 0, some;
  for (int i = 0; i < count; ++i) statuses[i] = fresh_status();
  for (int i = 0; i < count; ++i) {
    if (way == waits) MPI_Wait(&requests[i], i % 2 == 0 ? MPI_STATUS_IGNORE : &statuses[i]);
    if (way == tests) {
      for (flag = 0; !flag;)
        MPI_Test(&requests[i], &flag, i % 2 == 0 ? MPI_STATUS_IGNORE : &statuses[i]);
    }
    if (way == waits_for_any) {
      MPI_Waitany(count, requests, &index, &statuses[i]);
      say("any %d\n", index >= 0 && index < count && requests[index] == MPI_REQUEST_NULL);
    }
    if (way == tests_any) {
      for (flag = 0; !flag;) MPI_Testany(count, requests, &index, &flag, MPI_STATUS_IGNORE);
    }
  }
  if (way == waits_for_all) MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  if (way == waits_for_all_told) MPI_Waitall(count, requests, statuses);
  while (way == tests_all && !flag) MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE);
  while (way == tests_all_told && !flag) MPI_Testall(count, requests, &flag, statuses);
  for (int done = 0; way == waits_for_some && done < count; done += some) {
    MPI_Waitsome(count, requests, &some, indices, done == 0 ? MPI_STATUSES_IGNORE : statuses);
  }
  for (int done = 0; way == tests_some && done < count; done += some) {
    MPI_Testsome(count, requests, &some, indices, done == 0 ? statuses : MPI_STATUSES_IGNORE);
  }
  for (int i = 0; i < count; ++i) {
    if (way == waits_for_all_told || way == tests_all_told || way == waits) {
      say_status(names[way], &statuses[i], MPI_DOUBLE);
    }
    if (requests[i] != MPI_REQUEST_NULL) say("request %d is left\n", i);
  }
  free(statuses);
  free(indices);
}

/* Receives first, into places of their own, then sends of four kinds. */
static int begin_many(int count, int tag, MPI_Request* requests) {
  for (int i = 0; i < count; ++i) {
    const int source = i % 3 == 0 ? MPI_ANY_SOURCE : other;
    MPI_Irecv(room + 10 * i, 10, MPI_DOUBLE, source, tag + i, comm, &requests[i]);
    expect("receive", nonblocking | (i % 3 == 0 ? any_source : 0), tag + i, 8 * (i % 9));
  }
  MPI_Barrier(comm); /* receives of ready sends are there */
  for (int i = 0; i < count; ++i) {
    MPI_Request* const request = &requests[count + i];
    static const char* const kinds[] = {"send", "synchronous_send", "ready_send", "send"};
    if (i % 4 == 1) {
      MPI_Issend(data, i % 9, MPI_DOUBLE, other, tag + i, comm, request);
    } else if (i % 4 == 2) {
      MPI_Irsend(data, i % 9, MPI_DOUBLE, other, tag + i, comm, request);
    } else {
      MPI_Isend(data, i % 9, MPI_DOUBLE, other, tag + i, comm, request);
    }
    expect(kinds[i % 4], nonblocking, tag + i, 8 * (i % 9));
  }
  return 2 * count;
}

static void all_ways(void) {
  MPI_Request requests[2 * many];
  for (enum way way = waits; way < ways; ++way) {
    for (int count = 3; count <= many; count += many - 3) {
      complete_all(way, begin_many(count, 100 * (int)way, requests), requests);
      say_room(names[way], 10 * count);
    }
  }
}

static void in_another_order(void) {
  MPI_Request requests[2 * many], moved[2 * many];
  const int count = begin_many(many, 7, requests);
  for (int i = 0; i < count; ++i) moved[i] = requests[count - 1 - i];
  complete_all(waits_for_all, count, moved);
  say_room("moved", 10 * many);
}

static void nothing_to_complete(void) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status status = fresh_status();
  int index = -5, flag = -5, indices[2];
  MPI_Wait(&requests[0], &status);
  say_status("null", &status, MPI_INT);
  MPI_Waitany(2, requests, &index, &status);
  say("undefined %d\n", index == MPI_UNDEFINED);
  MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
  say("undefined %d, %d\n", index == MPI_UNDEFINED, flag);
  MPI_Waitsome(2, requests, &index, indices, MPI_STATUSES_IGNORE);
  say("undefined %d\n", index == MPI_UNDEFINED);
  MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
  MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE);
  say("flag %d\n", flag);
}

/* ---- Persistent, cancelled, freed ---- */

static void persistently(void) {
  enum { count = 6 };
  static const char* const kinds[] = {"receive",    "send",          "synchronous_send",
                                      "ready_send", "buffered_send", "receive"};
  MPI_Request requests[count];
  MPI_Status statuses[count];
  char* const buffer = malloc(1 << 16);
  MPI_Buffer_attach(buffer, 1 << 16);
  MPI_Recv_init(room, 8, MPI_DOUBLE, other, MPI_ANY_TAG, comm, &requests[0]);
  MPI_Send_init(data, 1, MPI_DOUBLE, other, 1, comm, &requests[1]);
  MPI_Ssend_init(data, 2, MPI_DOUBLE, other, 2, comm, &requests[2]);
  MPI_Rsend_init(data, 3, MPI_DOUBLE, other, 3, comm, &requests[3]);
  MPI_Bsend_init(data, 4, MPI_DOUBLE, other, 4, comm, &requests[4]);
  MPI_Recv_init(room, 8, MPI_DOUBLE, MPI_PROC_NULL, 1, comm, &requests[5]);
  for (int i = 0; i < count; ++i) statuses[i] = fresh_status();
  MPI_Wait(&requests[1], &statuses[1]); /* inactive */
  say_status("inactive", &statuses[1], MPI_DOUBLE);
  for (int round = 0; round < 3; ++round) {
    for (int kind = 1; kind <= 4; ++kind) {
      MPI_Start(&requests[0]);
      expect(kinds[0], persistent | any_tag, kind, 8 * kind);
      MPI_Barrier(comm);
      MPI_Request two[3] = {requests[kind], requests[5], requests[0]};
      MPI_Startall(2, two);
      expect(kinds[kind], persistent, kind, 8 * kind);
      MPI_Waitall(3, two, round == 0 ? MPI_STATUSES_IGNORE : statuses);
      say("kept %d\n", two[0] == requests[kind] && two[2] == requests[0]);
      if (round > 0) say_status("persistent", &statuses[2], MPI_DOUBLE);
      say_room("persistent", 8);
      MPI_Barrier(comm);
    }
  }
  for (int i = 0; i < count; ++i) MPI_Request_free(&requests[i]);
  say("freed %d\n", requests[0] == MPI_REQUEST_NULL);
  int size = 0;
  void* old;
  MPI_Buffer_detach(&old, &size);
  free(buffer);
}

static void given_up(void) {
  MPI_Status status = fresh_status();
  MPI_Request request;
  MPI_Irecv(room, 1, MPI_DOUBLE, other, 999, comm, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  int cancelled = 0;
  MPI_Test_cancelled(&status, &cancelled);
  say("cancelled %d\n", cancelled);
  MPI_Irecv(room, 1, MPI_DOUBLE, other, 999, comm, &request);
  MPI_Cancel(&request);
  MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
  MPI_Isend(data, 2, MPI_DOUBLE, other, 11, comm, &request); /* cancelled too late, if at all */
  MPI_Isend(data, 3, MPI_DOUBLE, other, 12, comm, &request);
  MPI_Request_free(&request);
  expect("send", nonblocking, 11, 16); /* never completed */
  expect("send", nonblocking, 12, 24);
  say("freed %d\n", request == MPI_REQUEST_NULL);
  MPI_Recv(room, 2, MPI_DOUBLE, other, 11, comm, &status);
  expect("receive", 0, 11, 16);
  MPI_Recv(room, 3, MPI_DOUBLE, other, 12, comm, &status);
  expect("receive", 0, 12, 24);
  say_status("freed", &status, MPI_DOUBLE);
}

/* ---- Types, probes, errors ---- */

static void derived(void) {
  MPI_Datatype type;
  MPI_Request request;
  MPI_Status status = fresh_status();
  MPI_Type_vector(3, 2, 5, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Isend(data, 2, type, other, 1, comm, &request);
  expect("send", nonblocking, 1, 96);
  MPI_Type_free(&type);
  MPI_Recv(room, 12, MPI_DOUBLE, other, 1, comm, &status);
  expect("receive", 0, 1, 96);
  say_status("derived", &status, MPI_DOUBLE);
  say_room("derived", 12);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void probing(void) {
  MPI_Message message;
  MPI_Request request;
  MPI_Status status = fresh_status();
  if (me == 0) {
    for (int tag = 1; tag <= 5; ++tag) {
      if (tag == 5) nanosleep(&(struct timespec){0, 2000000}, NULL); /* it is tested for in vain */
      MPI_Send(data, tag, MPI_DOUBLE, 1, tag, comm);
      expect("send", 0, tag, 8 * tag);
    }
    return;
  }
  MPI_Probe(MPI_ANY_SOURCE, 1, comm, &status);
  expect("probe", any_source, 1, 8);
  int count = 0; /* whether it is cancelled is by chance in MPICH's status of a probe */
  MPI_Get_count(&status, MPI_DOUBLE, &count);
  say("probe: from %d, tag %d, count %d\n", status.MPI_SOURCE, status.MPI_TAG, count);
  MPI_Recv(room, 5, MPI_DOUBLE, 0, 1, comm, MPI_STATUS_IGNORE);
  expect("receive", 0, 1, 8);
  MPI_Mprobe(0, 2, comm, &message, MPI_STATUS_IGNORE);
  expect("probe", 0, 2, 16);
  expect("receive", matched, 2, 16); /* matched now, received later */
  MPI_Recv(room, 5, MPI_DOUBLE, 0, 3, comm, MPI_STATUS_IGNORE);
  expect("receive", 0, 3, 24);
  MPI_Mrecv(room, 5, MPI_DOUBLE, &message, &status);
  say_status("mrecv", &status, MPI_DOUBLE);
  say("no message %d\n", message == MPI_MESSAGE_NULL);
  MPI_Mprobe(0, MPI_ANY_TAG, comm, &message, &status);
  expect("probe", any_tag, 4, 32);
  expect("receive", matched | nonblocking | any_tag, 4, 32);
  MPI_Imrecv(room, 5, MPI_DOUBLE, &message, &request);
  MPI_Wait(&request, &status);
  say_status("imrecv", &status, MPI_DOUBLE);
  int flag = 0;
  while (!flag) MPI_Improbe(0, 5, comm, &flag, &message, MPI_STATUS_IGNORE);
  expect("probe", 0, 5, 40);
  expect("receive", matched, 5, 40);
  MPI_Mrecv(room, 5, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
  say_room("probes", 5);
}

static int handled;
static void handle(MPI_Comm* of, int* code, ...) {
  (void)of;
  (void)code;
  ++handled;
}

#ifdef MPICH_VERSION
/* After an error handler of the program MPICH says that all is well. */
static void nothing_to_set(MPI_Errhandler handler) {
  const int two = 2, periodic = 1, before = handled;
  int codes = 0;
  MPI_Comm grid;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Cart_create(comm, 1, &two, &periodic, 0, &grid);
  MPI_Comm_set_errhandler(grid, handler);
  codes += MPI_Send(data, 1, MPI_DATATYPE_NULL, other, 1, grid);
  codes += MPI_Send(data, 1, MPI_INT, -7, 1, grid);
  codes += MPI_Recv(room, 1, MPI_DATATYPE_NULL, other, 1, grid, MPI_STATUS_IGNORE);
  codes += MPI_Irecv(room, 1, MPI_DATATYPE_NULL, other, 1, grid, &request);
  codes += MPI_Isend(data, 1, MPI_INT, other, 1, grid, NULL);
  codes += MPI_Iprobe(other, 1, grid, NULL, MPI_STATUS_IGNORE);
  codes += MPI_Iallreduce(data, room, 1, MPI_INT, MPI_SUM, grid, NULL);
  codes += MPI_Iallreduce(data, room, -1, MPI_INT, MPI_SUM, grid, &request);
  codes += MPI_Neighbor_allgather(data, 1, MPI_DATATYPE_NULL, room, 1, MPI_INT, grid);
  codes += MPI_Ineighbor_allgather(data, 1, MPI_INT, room, 1, MPI_INT, grid, NULL);
  codes += MPI_Ineighbor_allgather(data, 1, MPI_DATATYPE_NULL, room, 1, MPI_INT, grid, &request);
  codes += MPI_Win_create(room, 8, 1, MPI_INFO_NULL, grid, NULL);
  codes += MPI_Win_create(room, -8, 1, MPI_INFO_NULL, grid, &win);
  say("nothing set: %d, handled %d times\n", codes, handled - before);
  MPI_Comm_free(&grid);
}
#endif

/* The second of three messages is cut. With threads Open MPI 4.1 hangs there. */
static void cut(MPI_Comm own, MPI_Status* statuses) {
  MPI_Request requests[3];
  if (me == 0) {
    for (int i = 0; i < 3; ++i) {
      MPI_Send(data, 1 + i, MPI_DOUBLE, 1, i, own);
      expect_on("wrong", "send", 0, 1, i, 8 * (1 + i));
    }
    MPI_Barrier(own);
    return;
  }
  MPI_Barrier(own);
  for (int i = 0; i < 3; ++i) {
    MPI_Irecv(room + 5 * i, i == 1 ? 1 : 3, MPI_DOUBLE, 0, i, own, &requests[i]);
    if (i != 1) expect_on("wrong", "receive", nonblocking, 0, i, 8 * (1 + i));
  }
  ++lost;
  say_code("waitall", MPI_Waitall(3, requests, statuses));
  say("null %d\n", requests[1] == MPI_REQUEST_NULL);
  for (int i = 0; i < 3; i += 2) {
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    say("data %g\n", room[5 * i + i]);
  }
}

/* A message that is cut in each of the calls that complete some of several requests. */
static void cut_in_some(MPI_Comm own) {
  for (int way = 0; way < 4; ++way) {
    MPI_Barrier(own);
    if (me == 0) {
      MPI_Send(data, 2, MPI_DOUBLE, 1, 20 + way, own);
      expect_on("wrong", "send", 0, 1, 20 + way, 16);
      continue;
    }
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int number = 0, indices[2], flag = 0, code = MPI_SUCCESS;
    MPI_Irecv(room, 1, MPI_DOUBLE, 0, 20 + way, own, &requests[1]);
    if (way == 0) code = MPI_Waitany(2, requests, indices, MPI_STATUS_IGNORE);
    if (way == 1) code = MPI_Waitsome(2, requests, &number, indices, MPI_STATUSES_IGNORE);
    while (way > 1 && code == MPI_SUCCESS) {
      code = way == 2 ? MPI_Testany(2, requests, indices, &flag, MPI_STATUS_IGNORE)
                      : MPI_Testsome(2, requests, &number, indices, MPI_STATUSES_IGNORE);
    }
    ++lost;
    say("cut in some: %d, null %d\n", code != MPI_SUCCESS, requests[1] == MPI_REQUEST_NULL);
  }
}

static void wrong(void) {
  MPI_Comm own;
  MPI_Errhandler handler;
  MPI_Status statuses[3] = {fresh_status(), fresh_status(), fresh_status()};
  MPI_Request request;
  MPI_Comm_dup(comm, &own);
  MPI_Comm_set_name(own, "wrong");
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(own, handler);
  MPI_Send(data, 1, MPI_INT, 77, 1, own);
  say("handled %d\n", handled);
  MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* of what has no communicator */
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  say_code("rank", MPI_Send(data, 1, MPI_INT, 77, 1, own));
  say_code("rank", MPI_Isend(data, 1, MPI_INT, 77, 1, own, &request));
  say("wrong type %d\n", MPI_Send(data, 1, MPI_DATATYPE_NULL, other, 1, own) != MPI_SUCCESS);
  say("wrong comm %d\n", MPI_Send(data, 1, MPI_INT, other, 1, MPI_COMM_NULL) != MPI_SUCCESS);
  cut(own, statuses);
  if (me == 1) say_code("status", statuses[1].MPI_ERROR);
  MPI_Barrier(own);
  cut(own, MPI_STATUSES_IGNORE);
  cut_in_some(own);
  if (me == 0) {
    MPI_Send(data, 2, MPI_DOUBLE, 1, 9, own);
    expect_on("wrong", "send", 0, 1, 9, 16);
  } else {
    say_code("recv", MPI_Recv(room, 1, MPI_DOUBLE, 0, 9, own, MPI_STATUS_IGNORE));
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
#ifdef MPICH_VERSION /* Open MPI looks into the freed memory */
  MPI_Comm freed = own;
  MPI_Comm_free(&own);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  say("freed %d\n", MPI_Send(data, 1, MPI_INT, other, 1, freed) == MPI_SUCCESS);
  say("freed %d\n", MPI_Sendrecv(data, 1, MPI_INT, other, 1, room, 1, MPI_INT, other, 1, freed,
                                 MPI_STATUS_IGNORE) == MPI_SUCCESS);
  say("freed %d\n", MPI_Isend(data, 1, MPI_INT, other, 1, freed, &request) == MPI_SUCCESS);
  say("freed %d\n", MPI_Barrier(freed) == MPI_SUCCESS);
  nothing_to_set(handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
#else
  MPI_Comm_free(&own);
#endif
  MPI_Errhandler_free(&handler);
}

/* ---- Communicators, collectives, threads ---- */

static void between_groups(void) {
  MPI_Comm half, inter;
  MPI_Comm_split(comm, me, 0, &half);
  MPI_Intercomm_create(half, 0, comm, other, 3, &inter);
  MPI_Comm_set_name(inter, "inter");
  if (me == 0) {
    MPI_Send(data, 2, MPI_DOUBLE, 0, 4, inter);
    expect_on("inter", "send", 0, 1, 4, 16);
    MPI_Recv(room, 3, MPI_DOUBLE, MPI_ANY_SOURCE, 5, inter, MPI_STATUS_IGNORE);
    expect_on("inter", "receive", any_source, 1, 5, 24);
  } else {
    MPI_Request request;
    MPI_Irecv(room, 2, MPI_DOUBLE, 0, 4, inter, &request);
    expect_on("inter", "receive", nonblocking, 0, 4, 16);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Send(data, 3, MPI_DOUBLE, 0, 5, inter);
    expect_on("inter", "send", 0, 0, 5, 24);
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

static void together(void) {
  MPI_Request requests[3];
  double sum = 0, mine = me + 1;
  int word = me;
  MPI_Iallreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comm, &requests[0]);
  MPI_Ibarrier(comm, &requests[1]);
  MPI_Ibcast(&word, 1, MPI_INT, 1, comm, &requests[2]);
  MPI_Barrier(comm);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  say("together %g %d\n", sum, word);
#if MPI_VERSION >= 4
  MPI_Allreduce_init(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, &requests[0]);
  for (int i = 0; i < 3; ++i) {
    mine = i;
    MPI_Start(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    say("persistent %g\n", sum);
  }
  MPI_Request_free(&requests[0]);
#endif
}

enum { of_neighbours = -2, window_post = -3, window_complete = -4 };

/* Both neighbours are one rank: what is sent to the one before comes from the one behind. */
static void in_a_grid(void) {
  const int two = 2, periodic = 1, sent[2] = {2, 5}, received[2] = {5, 2};
  const int from[2] = {0, 5}, into[2] = {0, 7};
  MPI_Comm grid;
  MPI_Request request;
  MPI_Cart_create(comm, 1, &two, &periodic, 0, &grid);
  MPI_Comm_set_name(grid, "grid");
  MPI_Neighbor_allgather(data, 3, MPI_DOUBLE, room, 3, MPI_DOUBLE, grid);
  for (int i = 0; i < 2; ++i) expect_on("grid", "send", 0, other, of_neighbours, 24);
  for (int i = 0; i < 2; ++i) expect_on("grid", "receive", 0, other, of_neighbours, 24);
  say_room("neighbours", 6);
  MPI_Neighbor_alltoallv(data, sent, from, MPI_DOUBLE, room, received, into, MPI_DOUBLE, grid);
  expect_on("grid", "send", 0, other, of_neighbours, 40);
  expect_on("grid", "send", 0, other, of_neighbours, 16);
  expect_on("grid", "receive", 0, other, of_neighbours, 40);
  expect_on("grid", "receive", 0, other, of_neighbours, 16);
  say_room("parts", 9);
  /* Open MPI 4.1 mixes up parts of different lengths here. */
  MPI_Ineighbor_alltoall(data, 2, MPI_DOUBLE, room, 2, MPI_DOUBLE, grid, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < 2; ++i) expect_on("grid", "send", nonblocking, other, of_neighbours, 16);
  for (int i = 0; i < 2; ++i) expect_on("grid", "receive", nonblocking, other, of_neighbours, 16);
#if MPI_VERSION >= 4
  MPI_Neighbor_alltoall_init(data, 1, MPI_INT, room, 1, MPI_INT, grid, MPI_INFO_NULL, &request);
  for (int round = 0; round < 2; ++round) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; ++i) expect_on("grid", "send", persistent, other, of_neighbours, 4);
    for (int i = 0; i < 2; ++i) expect_on("grid", "receive", persistent, other, of_neighbours, 4);
  }
  MPI_Request_free(&request);
#endif
  MPI_Comm_free(&grid);
}

/* Rank 0 sends twice to rank 1, which sends to itself; then a graph of both. */
static void in_graphs(void) {
  const int edges[2] = {1, 1}, index[2] = {1, 2}, ends[2] = {1, 0}, one = 1;
  const int sources[3] = {0, 1, 0};
  const int counts[3] = {1, 3, 2}, out[2] = {1, 2}, from[2] = {0, 8};
  const MPI_Datatype types[3] = {MPI_DOUBLE, MPI_INT, MPI_FLOAT};
  const MPI_Datatype sent[2] = {MPI_DOUBLE, MPI_FLOAT};
  const MPI_Aint places[3] = {0, 64, 128};
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(comm, me == 0 ? 0 : 3, sources, MPI_UNWEIGHTED, me == 0 ? 2 : 1,
                                 edges, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  MPI_Comm_set_name(graph, "edges");
  if (me == 0) {
    MPI_Neighbor_alltoallw(data, out, places, sent, room, NULL, NULL, NULL, graph);
    expect_on("edges", "send", 0, 1, of_neighbours, 8);
    expect_on("edges", "send", 0, 1, of_neighbours, 8);
  } else {
    MPI_Neighbor_alltoallw(data, &counts[1], places, &types[1], room, counts, places, types, graph);
    expect_on("edges", "send", 0, 1, of_neighbours, 12);
    expect_on("edges", "receive", 0, 0, of_neighbours, 8);
    expect_on("edges", "receive", 0, 1, of_neighbours, 12);
    expect_on("edges", "receive", 0, 0, of_neighbours, 8);
  }
  MPI_Comm_free(&graph);
  MPI_Graph_create(comm, 2, index, ends, 0, &graph);
  MPI_Comm_set_name(graph, "graph");
  MPI_Neighbor_allgatherv(data, 2, MPI_INT, room, &out[1], from, MPI_INT, graph);
  expect_on("graph", "send", 0, other, of_neighbours, 8);
  expect_on("graph", "receive", 0, other, of_neighbours, 8);
  for (int rank = 1; rank >= 0; --rank) { /* that one alone sends, then the other one, too */
    const int some = me == rank ? 0 : 2;
    MPI_Neighbor_allgatherv(data, 2 - some, MPI_INT, room, &some, from, MPI_INT, graph);
    expect_on("graph", "send", 0, other, of_neighbours, 4 * (2 - some));
    expect_on("graph", "receive", 0, other, of_neighbours, 4 * some);
  }
  MPI_Comm_free(&graph);
  MPI_Graph_create(comm, 1, &one, &(int){0}, 0, &graph); /* of rank 0 alone */
  if (graph != MPI_COMM_NULL) MPI_Comm_free(&graph);
}

/* Rank 0's window is open to rank 1, then the other way round. */
static void windows(void) {
  MPI_Comm own;
  MPI_Win win;
  MPI_Group all, peer;
  MPI_Comm_dup(comm, &own);
  MPI_Comm_set_name(own, "window");
  MPI_Win_create(room, sizeof room, sizeof *room, MPI_INFO_NULL, own, &win);
  MPI_Comm_group(own, &all);
  MPI_Comm_free(&own); /* the window stays */
  MPI_Group_incl(all, 1, &other, &peer);
#ifdef OMPI_MAJOR_VERSION /* it takes that for an empty group */
  MPI_Win_post(MPI_GROUP_NULL, 0, win);
  MPI_Win_wait(win);
#endif
  for (int target = 0; target < 2; ++target) {
    if (me == target) {
      MPI_Win_post(peer, 0, win);
      expect_on("window 1 of window", "send", 0, other, window_post, 0);
      for (int done = 0; target == 1 && !done;) MPI_Win_test(win, &done);
      if (target == 0) MPI_Win_wait(win);
      expect_on("window 1 of window", "receive", 0, other, window_complete, 0);
      say_room("put", 4);
    } else {
      MPI_Win_start(peer, 0, win);
      expect_on("window 1 of window", "receive", 0, other, window_post, 0);
      MPI_Put(data, 3, MPI_DOUBLE, target, 0, 3, MPI_DOUBLE, win);
      MPI_Win_complete(win);
      expect_on("window 1 of window", "send", 0, other, window_complete, 0);
    }
  }
  MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
  MPI_Put(data, 2, MPI_DOUBLE, other, 0, 2, MPI_DOUBLE, win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  say_room("fence", 2);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, win);
  MPI_Win_unlock(other, win);
  MPI_Win_free(&win);
  say("no window %d\n", win == MPI_WIN_NULL);
  MPI_Group_free(&peer);
  MPI_Group_free(&all);
}

static void files(const char* folder) {
  char name[4096];
  MPI_Comm own;
  MPI_File file;
  MPI_Comm_dup(comm, &own);
  MPI_Comm_set_name(own, "file");
  snprintf(name, sizeof name, "%s/data", folder);
  say_code("none", MPI_File_open(own, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  MPI_File_open(own, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_Comm_free(&own);
  MPI_File_write_at_all(file, 80 * me, data, 10, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_File_read_at(file, 80 * me, room, 10, MPI_DOUBLE, MPI_STATUS_IGNORE);
  say_room("file", 10);
  MPI_File_close(&file);
}

static MPI_Comm of_threads;
static void* on_thread(void* number) {
  const int tag = *(int*)number;
  double in[4], out[4] = {tag, 1, 2, 3};
  for (int i = 0; i < 50; ++i) {
    MPI_Request requests[2];
    MPI_Irecv(in, 4, MPI_DOUBLE, other, tag, of_threads, &requests[0]);
    MPI_Isend(out, tag, MPI_DOUBLE, other, tag, of_threads, &requests[1]);
    if (i % 2 == 0) {
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else {
      MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
      for (int flag = 0; !flag;) MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    }
  }
  return NULL;
}
static void with_threads(void) {
  enum { threads = 3 };
  pthread_t ids[threads];
  int numbers[threads];
  MPI_Comm_dup(comm, &of_threads);
  MPI_Comm_set_name(of_threads, "threads");
  for (int i = 0; i < threads; ++i) {
    numbers[i] = i + 1;
    pthread_create(&ids[i], NULL, on_thread, &numbers[i]);
  }
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  for (int i = 0; i < threads * 50; ++i) {
    expect_on("threads", "receive", nonblocking, other, 1 + i % 3, 8 * (1 + i % 3));
    expect_on("threads", "send", nonblocking, other, 1 + i % 3, 8 * (1 + i % 3));
  }
}

/* ---- Counts of MPI 4 ---- */

static void large_counts(void) {
#if MPI_VERSION >= 4
  MPI_Request requests[2];
  MPI_Sendrecv_c(data, 2, MPI_DOUBLE, other, 1, room, 2, MPI_DOUBLE, other, 1, comm,
                 MPI_STATUS_IGNORE);
  expect("send", 0, 1, 16);
  expect("receive", 0, 1, 16);
  MPI_Irecv_c(room, 3, MPI_DOUBLE, other, 2, comm, &requests[0]);
  expect("receive", nonblocking, 2, 24);
  MPI_Isend_c(data, 3, MPI_DOUBLE, other, 2, comm, &requests[1]);
  expect("send", nonblocking, 2, 24);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Recv_init_c(room, 3, MPI_DOUBLE, other, 2, comm, &requests[0]);
  MPI_Send_init_c(data, 3, MPI_DOUBLE, other, 2, comm, &requests[1]);
  MPI_Startall(2, requests);
  expect("receive", persistent, 2, 24);
  expect("send", persistent, 2, 24);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  if (me == 0) {
    MPI_Send_c(data, 4, MPI_DOUBLE, 1, 3, comm);
    expect("send", 0, 3, 32);
  } else {
    MPI_Recv_c(room, 4, MPI_DOUBLE, 0, 3, comm, MPI_STATUS_IGNORE);
    expect("receive", 0, 3, 32);
  }
  MPI_Isendrecv(data, 2, MPI_DOUBLE, other, 1, room, 2, MPI_DOUBLE, other, 1, comm, &requests[0]);
  expect("send", nonblocking, 1, 16);
  ++lost; /* its receive */
  MPI_Isendrecv_replace(room, 2, MPI_DOUBLE, other, 1, MPI_PROC_NULL, 1, comm, &requests[1]);
  expect("send", nonblocking, 1, 16);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Recv(room, 2, MPI_DOUBLE, other, 1, comm, MPI_STATUS_IGNORE);
  expect("receive", 0, 1, 16);
#endif
}

static FILE* file_of(const char* folder, const char* what) {
  char name[4096];
  snprintf(name, sizeof name, "%s/%d.%s", folder, me, what);
  FILE* const file = fopen(name, "w");
  if (file == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  setvbuf(file, NULL, _IOLBF, 0); /* a rank that hangs tells where */
  return file;
}

int main(int argc, char** argv) {
  int level = 0;
  const int threads = argc > 2;
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  other = 1 - me;
  seen = file_of(argv[1], "seen");
  expected = file_of(argv[1], "expected");
  for (int i = 0; i < large; ++i) data[i] = i % 1000 + 1000 * me;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_name(comm, "mine");
  blocking();
  to_nobody();
  both_ways();
  to_myself();
  all_ways();
  in_another_order();
  nothing_to_complete();
  persistently();
  given_up();
  derived();
  probing();
  if (!threads) wrong();
  between_groups();
  together();
  large_counts();
  in_a_grid();
  in_graphs();
  windows();
  files(argv[1]);
  if (level == MPI_THREAD_MULTIPLE) with_threads();
  fprintf(expected, "lost %d\n", lost);
  fclose(seen);
  fclose(expected);
  return MPI_Finalize();
}
