/* What belongs to the program: its files, limits, stacks, folder and settings. By name only. Files
 * of these cases are made in the folder CASES_FOLDER, and the tests look at them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases.h"

enum { most = 1 << 21, data_bytes = 1 << 16 };

static double mine[most + 1], sums[most + 1];

/* Sums of vectors of so many elements. */
static int sum(struct where at, int count, int calls) {
  int mistakes = 0;
  for (int call = 0; call < calls; ++call) {
    for (int i = 0; i < count; ++i) mine[i] = at.rank + i;
    WRONG_IF(MPI_Allreduce(mine, sums, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS);
    const int ranks = at.ranks * (at.ranks - 1) / 2;
    int wrong = 0;
    for (int i = 0; i < count; ++i) wrong += sums[i] != (double)at.ranks * i + ranks;
    WRONG_IF(wrong > 0);
  }
  return mistakes;
}

static const char* folder(void) {
  const char* const found = getenv("CASES_FOLDER");
  return found != NULL ? found : ".";
}

/* A file of the program: so many bytes 'd'. */
static void make_data(struct where at, int number) {
  static char data[data_bytes];
  char name[4096];
  snprintf(name, sizeof name, "%s/data-%d-%d", folder(), at.rank, number);
  const int file = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
  memset(data, 'd', sizeof data);
  if (file != number || write(file, data, sizeof data) != (ssize_t)sizeof data) abort();
}

/* The names of new files have the lowest free numbers, so the program's get those of ours. */
static int closed_descriptors(struct where at) {
  int mistakes = sum(at, 1000, 20);
  int closed = 0;
  for (int number = 3; number < 1024; ++number) {
    char link[64], target[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", number);
    if (readlink(link, target, sizeof target - 1) <= 0) continue;
    if (strstr(target, "latecomer") == NULL && strstr(target, ".trace") == NULL) continue;
    close(number);
    for (int lower = 3; lower < number; ++lower) { /* free ones below are filled */
      if (fcntl(lower, F_GETFD) < 0) dup2(0, lower);
    }
    make_data(at, number);
    ++closed;
  }
  WRONG_IF(closed == 0);
  mistakes += sum(at, 1000, 20000) + sum(at, 200000, 10);
  return mistakes;
}

static int closed_stderr(struct where at) {
  const int mistakes = sum(at, 1000, 20);
  close(2);
  make_data(at, 2);
  return mistakes + sum(at, 1000, 20);
}

/* A second descriptor of it does not help. */
static int closed_all_of_stderr(struct where at) {
  const int mistakes = sum(at, 1000, 20);
  struct stat errors, found;
  if (fstat(2, &errors) != 0) return 1;
  for (int number = 1023; number >= 2; --number) {
    if (number == 2 || (fstat(number, &found) == 0 && found.st_ino == errors.st_ino &&
                        found.st_dev == errors.st_dev)) {
      close(number);
    }
  }
  make_data(at, 2);
  return mistakes + sum(at, 1000, 20);
}

/* SIGXFSZ ends a process by default. */
static int file_size_limit(struct where at) {
  struct rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = 1;
  setrlimit(RLIMIT_FSIZE, &limit);
  return sum(at, 500, 20000) + sum(at, 100000, 10);
}

static long mapped_bytes(void) {
  long pages = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld", &pages) != 1) abort();
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

/* The last rank may have 28 MiB more: scratch of 18 MiB, but no node's memory of 32 MiB. */
static int address_space_limit(struct where at) {
  int mistakes = sum(at, 1000, 20);
  struct rlimit limit;
  getrlimit(RLIMIT_AS, &limit);
  if (at.rank == at.ranks - 1) limit.rlim_cur = (rlim_t)mapped_bytes() + (28U << 20);
  setrlimit(RLIMIT_AS, &limit);
  mistakes += sum(at, most + 1, 3) + sum(at, 1000, 20);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_AS, &limit);
  return mistakes;
}

/* No further file can be opened. */
static int descriptor_limit(struct where at) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = 3;
  setrlimit(RLIMIT_NOFILE, &limit);
  const int mistakes = sum(at, 1000, 20) + sum(at, 100000, 10);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return mistakes;
}

static int locked_memory_limit(struct where at) {
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_MEMLOCK, &none);
  return sum(at, 1000, 20) + sum(at, 100000, 10);
}

static struct where place;
static int mistakes_of_thread;

static void* in_thread(void* none) {
  for (int i = 0; i < 20; ++i) {
    mistakes_of_thread += sum(place, 1000, 1) + sum(place, 40000, 1) + sum(place, 1, 1);
    MPI_Bcast(sums, 40000, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Reduce(mine, sums, 40000, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  }
  return none;
}

/* All calls of a thread that has the smallest stack: 16 KiB. Needs --threads. */
static int small_stack(struct where at) {
  pthread_attr_t attributes;
  pthread_t thread;
  place = at;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 16384);
  if (pthread_create(&thread, &attributes, in_thread, NULL) != 0) return 1;
  pthread_join(thread, NULL);
  return mistakes_of_thread;
}

/* Signals are the program's own threads' to take. Needs --threads, and LATECOMER_PROGRESS=thread.
 */
static int signals(struct where at) {
  int mistakes = sum(at, 1000, 20) + sum(at, 300000, 20);
  int ours = 0;
  DIR* const tasks = opendir("/proc/self/task");
  const struct dirent* task;
  while (tasks != NULL && (task = readdir(tasks)) != NULL) {
    char name[512], line[256];
    unsigned long long blocked = 0;
    int is_ours = 0;
    snprintf(name, sizeof name, "/proc/self/task/%s/status", task->d_name);
    FILE* const file = fopen(name, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
      if (strcmp(line, "Name:\tlatecomer\n") == 0) is_ours = 1;
      (void)sscanf(line, "SigBlk: %llx", &blocked);
    }
    if (file != NULL) fclose(file);
    if (!is_ours) continue;
    ++ours;
    const unsigned long long not_blocked = ~blocked & 0x7fffffffULL; /* SIGKILL and SIGSTOP stay */
    WRONG_IF(not_blocked != (1ULL << 8 | 1ULL << 18));
  }
  if (tasks != NULL) closedir(tasks);
  WRONG_IF(ours != 1);
  return mistakes;
}

/* Each rank rounds in another way, and traps what is invalid, infinite or a division by zero; ranks
 * come late, so that they forecast and choose. */
static int floating_point(struct where at) {
  static const int rounding[] = {FE_UPWARD, FE_TONEAREST, FE_DOWNWARD, FE_TOWARDZERO};
  const int own = rounding[at.rank % 4];
  const int trapped = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW;
  int mistakes = 0;
  fesetround(own);
  feclearexcept(FE_ALL_EXCEPT);
  feenableexcept(trapped);
  for (int i = 0; i < 150; ++i) {
    if (at.rank == i / 20 % at.ranks) usleep(300 + 777 * (i % 3));
    mistakes += sum(at, i % 4 == 0 ? 1 : i % 4 == 1 ? 3000 : 30000, 1);
    WRONG_IF(MPI_Bcast(sums, 30000, MPI_DOUBLE, i % at.ranks, MPI_COMM_WORLD) != MPI_SUCCESS);
    WRONG_IF(MPI_Reduce(mine, sums, 3000, MPI_DOUBLE, MPI_MAX, i % at.ranks, MPI_COMM_WORLD) !=
             MPI_SUCCESS);
    WRONG_IF(fegetround() != own || fegetexcept() != trapped);
  }
  WRONG_IF(fetestexcept(trapped) != 0);
  return mistakes;
}

static int decimal_comma(struct where at) {
  int mistakes = 0;
  WRONG_IF(setlocale(LC_ALL, "") == NULL || strcmp(localeconv()->decimal_point, ",") != 0);
  return mistakes + sum(at, 1000, 100);
}

static int changed_folder(struct where at) {
  char name[4096];
  int mistakes = sum(at, 1000, 20);
  snprintf(name, sizeof name, "%s/own-%d", folder(), at.rank);
  mkdir(name, 0700);
  WRONG_IF(chdir(name) != 0);
  MPI_Comm comm; /* which reads the settings anew */
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Allreduce(mine, sums, 1000, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Comm_free(&comm);
  return mistakes + sum(at, 1000, 20);
}

/* On one rank, so that it would differ from the others. */
static int changed_environment(struct where at) {
  int mistakes = sum(at, 1000, 20);
  if (at.rank == 0) {
    setenv("LATECOMER_REPRODUCIBLE", "1", 1);
    setenv("LATECOMER_NODES", "off", 1);
    setenv("LATECOMER_NETWORK", "alpha=1s", 1);
  }
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int i = 0; i < 20; ++i) {
    WRONG_IF(MPI_Allreduce(mine, sums, 1000, MPI_DOUBLE, MPI_SUM, comm) != MPI_SUCCESS);
  }
  MPI_Comm_free(&comm);
  return mistakes;
}

const struct named_case belongings_cases[] = {
    {"closed_descriptors", closed_descriptors},
    {"closed_stderr", closed_stderr},
    {"closed_all_of_stderr", closed_all_of_stderr},
    {"file_size_limit", file_size_limit},
    {"address_space_limit", address_space_limit},
    {"descriptor_limit", descriptor_limit},
    {"locked_memory_limit", locked_memory_limit},
    {"small_stack", small_stack},
    {"signals", signals},
    {"floating_point", floating_point},
    {"decimal_comma", decimal_comma},
    {"changed_folder", changed_folder},
    {"changed_environment", changed_environment},
    {NULL, NULL},
};
