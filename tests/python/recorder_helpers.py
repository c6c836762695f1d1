"""A library for LD_PRELOAD that writes down every call of MPI that reaches it, and a program for it."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from dropin_helpers import shared_library
from mpi_helpers import installed

PROTOTYPE = re.compile(r"\bint\s+(MPI_\w+)\s*\(([^;{}]*?)\)\s*(?:__attribute__[^;{}]*)?;")
# Those by which MPI libraries and ours are found, or that need other code than a call passed on.
LEFT_OUT = r"MPI_(T_\w+|Get_version|Get_library_version|Pcontrol|DUP_FN|\w+_fn|\w+_FN)$"
HEAD = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static FILE* file;
static __thread int depth;
static void tell(const char* text, long value) {
  if (file && depth == 1) fprintf(file, text, value);
}
static void* next(const char* name) { return dlsym(RTLD_NEXT, name); }
int MPI_Pcontrol(const int level, ...) {
  if (level == 1) {
    char name[4096];
    int rank;
    ((int (*)(MPI_Comm, int*))next("PMPI_Comm_rank"))(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "%s/%d", getenv("RECORDED"), rank);
    file = fopen(name, "w");
  } else if (file) {
    fclose(file);
    file = NULL;
  }
  return MPI_SUCCESS;
}
"""
# Questions of a process to its own MPI library: nothing that other ranks see.
LOCAL = {
    "Comm_create_keyval", "Comm_get_attr", "Comm_get_name", "Comm_group", "Comm_rank",
    "Comm_set_attr", "Comm_set_name", "Comm_size", "Comm_test_inter", "Get_count", "Group_free",
    "Group_size", "Group_translate_ranks", "Initialized", "Type_size", "Type_size_x",
}  # fmt: skip


def recorder(name: str, folder: Path) -> Path:
    """The library for an MPI library: made from the prototypes of its mpi.h.

    It writes RECORDED/RANK between MPI_Pcontrol(1) and (0): a line for each call, with its
    arguments as kind=value.
    """
    compiler = installed(name).mpicc
    (folder / "all.c").write_text("#include <mpi.h>\n")
    seen = subprocess.run([compiler, "-E", "-P", folder / "all.c"], capture_output=True, text=True,
                          check=True).stdout  # fmt: skip
    code = [HEAD]
    for function, words in dict(PROTOTYPE.findall(seen)).items():
        if not re.match(LEFT_OUT, function) and "..." not in words:
            code += [f"#undef {function}", *_bodies(function, words)]
    (folder / "recorder.c").write_text("\n".join(code))
    return shared_library(compiler, folder / "recorder.c", folder / "recorder.so", "-w")


def _bodies(function: str, words: str) -> Iterator[str]:
    parameters = [] if words.strip() in ("", "void") else re.split(r",(?![^(]*\))", words)
    names, told = [], []
    for each in parameters:
        name = (
            re.search(r"\(\s*\*\s*(\w+)\s*\)", each) or re.search(r"(\w+)(\[\w*\])*\s*$", each)
        )[1]
        kind = each[: each.rindex(name)].replace("const", "").strip() + ("*" if "[" in each else "")
        value = f"(long){name}"
        if function.endswith("_free") and kind.endswith("*"):
            kind, value = kind.rstrip("* "), f"(long)*{name}"
        names.append(name)
        told.append(f' tell(" {kind.replace(" ", "")}=%ld", {value});')
    for prefix in ("", "P"):
        yield (
            f"int {prefix}{function}({words}) {{ static int (*go)();"
            f' if (!go) go = (int (*)())next("P{function}"); ++depth;'
            f' tell("{function[4:]}", 0);{"".join(told)} tell("\\n", 0);'
            f" const int code = go({', '.join(names)}); --depth; return code; }}"
        )


def calls_in(folder: Path, ranks: int) -> list[list[str]]:
    """The calls of each rank that others can notice. Handles and addresses are numbered as they come."""
    return [list(_numbered((folder / str(rank)).read_text())) for rank in range(ranks)]


def _numbered(text: str) -> Iterator[str]:
    known: dict[str, str] = {}
    for line in text.splitlines():
        function, *arguments = line.split()
        if function in LOCAL:
            continue
        words = [function]
        for each in arguments:
            kind, _, value = each.partition("=")
            if kind == "MPI_Status*":
                continue  # ours, where the program passes none
            plain = kind in ("int", "MPI_Count", "MPI_Aint", "long")
            words.append(value if plain else known.setdefault(each, f"{kind}{len(known)}"))
            if function.endswith("_free"):
                known.pop(each, None)
        yield " ".join(words)


PROGRAM = r"""
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { most = 1 << 15, kinds = 20, of_all = 16 };
static double mine[most], all[of_all * most], sums[most];
static uint64_t state, hash = 14695981039346656037u;
static int rank, ranks;
static unsigned drawn(unsigned below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33) % below;
}
static void keep(const void* data, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ ((const unsigned char*)data)[i]) * 1099511628211u;
}
/* The bits of results go into what comes next. */
static void go_on(int count) {
  keep(sums, count * sizeof *sums);
  for (int i = 0; i < count; ++i) mine[i] = mine[i] / 3 + sums[i] * (1.1 + rank) * 1e-3;
}
static void exchange(int kind, int n, MPI_Comm comm) {
  int me, size, flag;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &size);
  const int to = (me + 1) % size, from = (me + size - 1) % size;
  MPI_Request two[2];
  MPI_Status status;
  if (kind == 0) {
    MPI_Irecv(sums, n, MPI_DOUBLE, from, 3, comm, &two[0]);
    MPI_Isend(mine, n, MPI_DOUBLE, to, 3, comm, &two[1]);
    MPI_Test(&two[0], &flag, MPI_STATUS_IGNORE);
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
  } else if (kind == 1) {
    MPI_Sendrecv(mine, n, MPI_DOUBLE, to, 4, sums, n, MPI_DOUBLE, from, 4, comm, MPI_STATUS_IGNORE);
  } else if (kind == 2) {
    MPI_Isend(mine, n, MPI_DOUBLE, to, 5, comm, &two[0]);
    MPI_Probe(from, 5, comm, &status);
    MPI_Recv(sums, n, MPI_DOUBLE, MPI_ANY_SOURCE, 5, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&two[0], MPI_STATUS_IGNORE);
  } else {
    MPI_Send_init(mine, n, MPI_DOUBLE, to, 6, comm, &two[0]);
    MPI_Recv_init(sums, n, MPI_DOUBLE, from, 6, comm, &two[1]);
    MPI_Startall(2, two);
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
    MPI_Request_free(&two[0]);
    MPI_Request_free(&two[1]);
  }
}
static void one(MPI_Comm world) {
  MPI_Comm comm = world, other;
  const int n = 1 + (drawn(2) ? drawn(64) : drawn(most)), part = 1 + n / of_all;
  const int root = drawn(ranks), kind = drawn(kinds);
  MPI_Request request;
  int counts[of_all], places[of_all];
  for (int i = 0; i < of_all; ++i) { counts[i] = 1 + (part + i) / 2; places[i] = i * part; }
  switch (kind) {
    case 0: MPI_Allreduce(mine, sums, n, MPI_DOUBLE, MPI_SUM, comm); break;
    case 1: memcpy(sums, mine, n * sizeof *sums);
            MPI_Allreduce(MPI_IN_PLACE, sums, n, MPI_DOUBLE, MPI_SUM, comm); break;
    case 2: MPI_Reduce(mine, sums, n, MPI_DOUBLE, MPI_SUM, root, comm); break;
    case 3: MPI_Bcast(mine, n, MPI_DOUBLE, root, comm); break;
    case 4: MPI_Allgather(mine, part, MPI_DOUBLE, all, part, MPI_DOUBLE, comm); break;
    case 5: MPI_Allgatherv(mine, counts[rank], MPI_DOUBLE, all, counts, places, MPI_DOUBLE, comm); break;
    case 6: MPI_Gather(mine, part, MPI_DOUBLE, all, part, MPI_DOUBLE, root, comm); break;
    case 7: MPI_Scatter(mine, part, MPI_DOUBLE, all, part, MPI_DOUBLE, root, comm); break;
    case 8: MPI_Alltoall(mine, part, MPI_DOUBLE, all, part, MPI_DOUBLE, comm); break;
    case 9: MPI_Reduce_scatter_block(mine, sums, part, MPI_DOUBLE, MPI_SUM, comm); break;
    case 10: MPI_Scan(mine, sums, n, MPI_DOUBLE, MPI_SUM, comm); break;
    case 11: MPI_Barrier(comm); break;
    case 12: MPI_Iallreduce(mine, sums, n, MPI_DOUBLE, MPI_SUM, comm, &request);
             MPI_Wait(&request, MPI_STATUS_IGNORE); break;
    case 13: MPI_Ibcast(mine, n, MPI_DOUBLE, root, comm, &request);
             MPI_Wait(&request, MPI_STATUS_IGNORE); break;
    case 14: MPI_Comm_dup(comm, &other);
             MPI_Allreduce(mine, sums, n, MPI_DOUBLE, MPI_SUM, other);
             MPI_Comm_free(&other); break;
    case 15: MPI_Comm_split(comm, rank % 2, -rank, &other);
             MPI_Allreduce(mine, sums, n, MPI_DOUBLE, MPI_SUM, other);
             exchange(1, n, other);
             MPI_Comm_free(&other); break;
    default: exchange(kind - 16, n, comm);
  }
  keep(all, of_all * part * sizeof *all);
  go_on(n);
}
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int calls = atoi(argv[1]);
  state = strtoull(argv[2], NULL, 10);
  for (int i = 0; i < most; ++i) mine[i] = 1.0 / (1 + i + 7 * rank);
  MPI_Pcontrol(1);
  for (int i = 0; i < calls; ++i) one(MPI_COMM_WORLD);
  MPI_Pcontrol(0);
  printf("rank %d: %016llx\n", rank, (unsigned long long)hash);
  return MPI_Finalize();
}
"""

# Many communicators at a time, and many calls on some of them; says how much memory that took.
MEMORY = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static long peak(void) { /* KiB */
  char line[256];
  long found = 0;
  FILE* const file = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, file)) sscanf(line, "VmHWM: %ld", &found);
  fclose(file);
  return found;
}
int main(int argc, char** argv) {
  static double data[200];
  const int comms = atoi(argv[1]), busy = atoi(argv[2]), calls = atoi(argv[3]);
  MPI_Init(&argc, &argv);
  for (int i = 0; i < comms; ++i) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int call = 0; call < (i < busy ? calls : 4); ++call) {
      MPI_Bcast(data, call % 16 ? 1 : 200, MPI_DOUBLE, 0, comm);
      if (call % 1024 == 1023) MPI_Barrier(comm);
    }
  }
  MPI_Finalize();
  printf("peak %ld\n", peak());
  return 0;
}
"""
