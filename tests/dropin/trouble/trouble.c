/* trouble WHAT: a program to which WHAT happens. It prints a line a rank, and exits with 1 if a
 * result was wrong. As a library (-DPLUGIN) its main is plugin_main. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef PLUGIN
#define main plugin_main
#endif

enum { most = 50000 };
static int rank, ranks, mistakes;
static int mine[most], sums[most];
static const char* what;

static int is(const char* word) { return strcmp(what, word) == 0; }
static int has(const char* part) { return strstr(what, part) != NULL; }

static void sum(int count) {
  for (int i = 0; i < count; ++i) mine[i] = rank + i;
  MPI_Allreduce(mine, sums, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) mistakes += sums[i] != ranks * i + ranks * (ranks - 1) / 2;
}

static void work(void) {
  for (int call = 0; call < 12; ++call) {
    int word = rank, other = -1;
    if (rank == 1) usleep(500);
    sum(1);
    sum(1000);
    sum(most);
    MPI_Sendrecv(&word, 1, MPI_INT, (rank + 1) % ranks, 0, &other, 1, MPI_INT,
                 (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    mistakes += other != (rank + ranks - 1) % ranks;
    MPI_Bcast(mine, 2000, MPI_INT, call % ranks, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void handle(int number) {
  (void)number;
  _exit(7);
}

/* The words "exit", "_exit", "abort", "segv", "handled", "kill" and "raise" say how rank 1 ends. */
static void end(void) {
  if (rank != 1) return;
  if (has("_exit")) _exit(4);
  if (has("exit")) exit(3);
  if (has("abort")) MPI_Abort(MPI_COMM_WORLD, 5);
  if (has("raise")) raise(SIGABRT);
  if (has("kill")) raise(SIGKILL);
  if (has("handled")) signal(SIGSEGV, handle);
  raise(SIGSEGV);
}

/* Where: "begin", "between", "call", "finalize" or "after". */
static void maybe_end(const char* where) {
  if (has(where)) end();
}

static void from_call(void* in, void* out, int* count, MPI_Datatype* type) {
  (void)in, (void)out, (void)count, (void)type;
  end();
}

static int at_finalize(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  end();
  return MPI_SUCCESS;
}

/* A child ends in its own way; its ends of the process must be harmless. */
static void fork_child(void) {
  fflush(stdout);
  const pid_t child = fork();
  int status = 0;
  if (child == 0) {
    if (is("fork-exec")) execlp("sh", "sh", "-c", "exit 0", (char*)NULL);
    exit(0);
  }
  waitpid(child, &status, 0);
  mistakes += status != 0;
}

static void surroundings(void) {
  if (has("fork")) fork_child();
  if (is("system")) mistakes += system("exit 0") != 0;
  if (is("close-stderr")) close(2);
  if (is("stderr-elsewhere")) mistakes += freopen("/dev/null", "w", stderr) == NULL;
  if (is("folder")) {
    char name[] = "/tmp/latecomer-gone-XXXXXX";
    mistakes += mkdtemp(name) == NULL || chdir(name) != 0 || rmdir(name) != 0;
  }
}

/* The most address space so far, in KiB. */
static long peak(void) {
  char line[256];
  long found = 0;
  FILE* const file = fopen("/proc/self/status", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    (void)sscanf(line, "VmPeak: %ld", &found);
  }
  if (file != NULL) fclose(file);
  return found;
}

int main(int argc, char** argv) {
  what = argc > 1 ? argv[1] : "";
  if (is("exec-self") && getenv("TROUBLE_AGAIN") == NULL) {
    setenv("TROUBLE_AGAIN", "1", 1);
    execv(argv[0], argv);
  }
  if (has("begin")) {
    const char* const named = getenv("OMPI_COMM_WORLD_RANK");
    rank = atoi(named != NULL ? named : getenv("PMI_RANK"));
    end();
  }
  int level = MPI_THREAD_SINGLE;
  if (is("threads")) {
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  } else {
    MPI_Init(&argc, &argv);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  work();
  surroundings();
  maybe_end("between");
  if (has("call")) {
    MPI_Op op;
    MPI_Op_create(from_call, 1, &op);
    MPI_Allreduce(mine, sums, 1000, MPI_INT, op, MPI_COMM_WORLD);
  }
  work();
  if (has("finalize")) {
    int keyval;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
  }
  if (!is("never-finalizes")) MPI_Finalize();
  maybe_end("after");
  if (is("peak")) printf("peak %ld\n", peak());
  printf("rank %d: %d mistakes\n", rank, mistakes);
  fflush(stdout);
  return mistakes != 0;
}
