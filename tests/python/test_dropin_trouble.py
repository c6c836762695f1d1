"""Never the reason that a job fails: whatever a job lacks or a program does, it ends as without us.

The table of docs/dropin.md has a row for each of these.
"""

import functools
import re
import subprocess

import pytest
from latecomer.launch import preload, program
from mpi_helpers import AS_USERS
from scenes_helpers import both_families
from test_dropin_beside import TIMES, WRAPS
from trouble_helpers import Scene, check, program_of, run_scene_of, tool


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    """The program, by MPI library."""
    made = {}

    def built(name):
        if name not in made:
            made[name] = program_of(name, tmp_path_factory.mktemp(name))
        return [made[name]]

    return built


def limited(words):
    """A shell that does something, and becomes the program."""
    return ["bash", "-c", f'{words}; exec "$@"', "-"]


# ---- what there is not

HERE = {
    "closed stderr": Scene(around=limited("exec 2>&-")),
    "few descriptors": Scene(around=limited("ulimit -n 40")),
    "small stack": Scene(around=limited("ulimit -s 256")),
    "no locale": Scene(variables={"LC_ALL": "nowhere", "LANG": "nowhere", "LOCPATH": "/nowhere"}),
    "no home": Scene(variables={"HOME": "/nowhere"}),
}


@both_families
@pytest.mark.parametrize("scene", HERE)
def test_what_a_process_does_not_have(name, scene, code, tmp_path):
    check(name, HERE[scene], code(name), tmp_path)


@both_families
def test_no_address_space_for_a_trace(name, code, tmp_path):
    """The file's 64 MiB are more than there is beside what the MPI library takes."""
    most = max(
        map(int, re.findall(r"peak (\d+)", run_scene_of(name, Scene("peak"), code(name), None).out))
    )
    around = limited(f"ulimit -v {most + 40 * 1024}")
    check(name, Scene(around=around), code(name), tmp_path, "cannot write a trace")


def mounted(words):
    """A shell in which the job has other file systems."""
    return ["unshare", "-m", *limited(words)]


# Ranks of Open MPI share memory in /dev/shm themselves.
BY_TCP = {"OMPI_MCA_btl": "self,tcp"}


@both_families
def test_no_shared_memory(name, code, tmp_path, namespaces):
    outside = mounted("mount -t tmpfs -o ro none /dev/shm")
    check(name, Scene(outside=outside, variables=BY_TCP), code(name), tmp_path)


@pytest.fixture(scope="module")
def writes_nothing(code):
    """The job without the library, which does not look at the place, by MPI library."""
    scene = Scene(outside=mounted("true"), variables=BY_TCP)
    return functools.cache(lambda name: run_scene_of(name, scene, code(name), None))


@both_families
@pytest.mark.parametrize(
    ("mount", "why"),
    [
        ("mount -t tmpfs -o size=32k none {}", "No space left on device"),
        ("mount -t tmpfs -o size=1500k none {}", "No space left on device"),
        ("mount -t tmpfs -o ro none {}", "Read-only file system"),
        ("rmdir {}", "No such file or directory"),
    ],
)
def test_no_place_for_files(name, mount, why, code, writes_nothing, tmp_path, namespaces):
    place = tmp_path / "place"
    variables = {"LATECOMER_TRACE": f"{place}/trace", **BY_TCP}
    outside = mounted(f"mkdir -p {place}; {mount.format(place)}")
    scene = Scene(outside=outside, variables=variables)
    check(name, scene, code(name), tmp_path, why, writes_nothing(name))


NO_THREADS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
/* Threads of C++ are refused, as where a limit of threads is reached. */
int pthread_create(pthread_t* made, const pthread_attr_t* how, void* (*run)(void*), void* with) {
  Dl_info of;
  if (dladdr((void*)run, &of) && (strstr(of.dli_fname, "latecomer") || strstr(of.dli_fname, "c++")))
    return EAGAIN;
  return ((int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*))dlsym(
      RTLD_NEXT, "pthread_create"))(made, how, run, with);
}
"""


@both_families
def test_no_progress_thread(name, code, tmp_path):
    tools = [tool(name, tmp_path, NO_THREADS, "no_threads")]
    scene = Scene("threads", front=tools, variables={"LATECOMER_PROGRESS": "thread"})
    check(name, scene, code(name), tmp_path)
    variables = {**scene.variables, "LATECOMER_ALGORITHM": "ring", "LATECOMER_MIN_BYTES": "0"}
    job = run_scene_of(name, scene, code(name), variables)
    assert job.code == 0, job.err
    assert "LATECOMER_PROGRESS=thread is not used: thread: 'Resource temporarily" in job.err


# ---- what else is in the process

# In the manner of Darshan: looks at files, and at MPI's begin and end.
LOOKS_AT_FILES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
static int files, inside;
int open(const char* name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = va_arg(rest, int);
  va_end(rest);
  files += inside;
  return ((int (*)(const char*, int, int))dlsym(RTLD_NEXT, "open"))(name, flags, mode);
}
int open64(const char* name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = va_arg(rest, int);
  va_end(rest);
  files += inside;
  return ((int (*)(const char*, int, int))dlsym(RTLD_NEXT, "open64"))(name, flags, mode);
}
void* mmap(void* at, size_t bytes, int use, int flags, int file, off_t offset) {
  return ((void* (*)(void*, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap"))(at, bytes, use, flags, file, offset);
}
int MPI_Init(int* argc, char*** argv) {
  const int code = PMPI_Init(argc, argv);
  inside = 1;
  return code;
}
int MPI_Finalize(void) {
  int all = files, rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Reduce(rank ? &all : MPI_IN_PLACE, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("files were looked at\\n");
  fflush(stdout);
  return PMPI_Finalize();
}
"""
TOOLS = {"mpiP": TIMES, "Caliper": WRAPS, "Darshan": LOOKS_AT_FILES, "Score-P": None}


@both_families
@pytest.mark.parametrize("side", ["front", "behind"])
@pytest.mark.parametrize("title", TOOLS)
def test_tools_in_the_manner_of(name, title, side, code, recorder_of, tmp_path):
    """In that of Score-P: a wrapper of every function, which writes what it saw at the end."""
    text = TOOLS[title]
    library = tool(name, tmp_path, text, "tool") if text else recorder_of(name)
    recorded = {"RECORDED": str(tmp_path)}
    check(name, Scene(**{side: [library]}, variables=recorded), code(name), tmp_path)


@both_families
@pytest.mark.parametrize(
    ("side", "other"),
    [("front", "LIBRARY"), ("behind", "LIBRARY"), ("front", "family"), ("behind", "family")],
)
def test_two_of_it(name, side, other, code, tmp_path):
    """As where a module sets one, and a user another one by hand."""
    found = f"liblatecomer_preload_{name}.so" if other == "family" else preload.LIBRARY
    library = program.find_built(found)
    check(name, Scene(**{side: [library]}), code(name), tmp_path)


AUDITS = """
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <string.h>
unsigned int la_version(unsigned int version) { return version; }
unsigned int la_objopen(struct link_map* map, Lmid_t space, uintptr_t* cookie) {
  return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}
uintptr_t la_symbind64(Elf64_Sym* symbol, unsigned int number, uintptr_t* by, uintptr_t* to,
                       unsigned int* flags, const char* name) {
  return symbol->st_value;
}
"""


@both_families
def test_an_audit_library(name, code, tmp_path):
    around = ["env", f"LD_AUDIT={tool(name, tmp_path, AUDITS, 'audit')}"]
    check(name, Scene(around=around), code(name), tmp_path)


@both_families
def test_mpi_that_is_opened_late(name, tmp_path):
    plugin = program_of(name, tmp_path, "-DPLUGIN", "-shared", "-fPIC")
    (tmp_path / "host.c").write_text(
        "#include <dlfcn.h>\nint main(int n, char** words) { void* opened = dlopen(words[1], "
        'RTLD_LAZY | RTLD_LOCAL); if (!opened) return 9; int (*go)(int, char**) = dlsym(opened, "plugin_main"); '
        "return go(n - 1, words + 1); }\n"
    )
    host = tmp_path / "host"
    subprocess.run(["cc", "-w", tmp_path / "host.c", "-o", host, "-ldl"], check=True, timeout=600)
    check(name, Scene(), [str(host), plugin], tmp_path)


# ---- what a program does


@both_families
@pytest.mark.parametrize("word", ["fork", "fork-exec", "system", "close-stderr",
                                  "stderr-elsewhere", "folder", "exec-self"])  # fmt: skip
def test_what_a_program_does(name, word, code, tmp_path):
    check(name, Scene(word), code(name), tmp_path)


@both_families
@pytest.mark.parametrize(
    "word",
    ["kill-begin", "exit-between", "_exit-between", "abort-between", "kill-between",
     "segv-call", "handled-call", "kill-finalize", "kill-after", "never-finalizes"],
)  # fmt: skip
def test_how_a_program_ends(name, word, code, tmp_path, monkeypatch):
    if word in ("abort-between", "never-finalizes"):  # test_dropin_beside has exits and signals
        monkeypatch.setenv(*AS_USERS)
    check(name, Scene(word, deadly=True), code(name), tmp_path)
