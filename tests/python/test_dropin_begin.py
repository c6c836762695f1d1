"""All ranks, or none: some have no library, other settings, or leave MPI_Init late."""

import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

from dropin_helpers import cases_of, launcher_of, run_cases, run_command, shared_library
from latecomer.launch import preload
from mpi_helpers import installed
from scenes_helpers import both_families

# One rank leaves the library's MPI_Init late: after SLOW_S seconds, or when the other one calls a
# collective. It then has left MPI_Init, and made the file SLOW_MARK.
SLOW = """
#include <mpi.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
static int late(int code) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != atoi(getenv("SLOW_RANK"))) return code;
  if (getenv("SLOW_S")) sleep(atoi(getenv("SLOW_S")));
  else while (access(getenv("SLOW_MARK"), F_OK) != 0) usleep(10000);
  return code;
}
int MPI_Init(int *argc, char ***argv) { return late(PMPI_Init(argc, argv)); }
int MPI_Init_thread(int *argc, char ***argv, int wanted, int *provided) {
  return late(PMPI_Init_thread(argc, argv, wanted, provided));
}
static void mark(void) { close(open(getenv("SLOW_MARK"), O_CREAT | O_WRONLY, 0600)); }
int MPI_Allreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  mark();
  return PMPI_Allreduce(from, to, n, type, op, comm);
}
int MPI_Reduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
  mark();
  return PMPI_Reduce(from, to, n, type, op, root, comm);
}
"""


def late_from_init(name, folder, rank, **slow):
    """A job of two ranks, of which this one leaves MPI_Init later."""
    place = folder / f"{name}{rank}{len(slow)}"
    place.mkdir()
    (place / "slow.c").write_text(SLOW)
    tool = shared_library(installed(name).mpicc, place / "slow.c", place / "slow.so")
    own = {"SLOW_RANK": str(rank), "SLOW_MARK": str(place / "mark"), "LATECOMER_STATS": "1"}
    return run_cases(name, 2, ["reductions"], own | slow, behind=[tool])


def test_a_rank_that_leaves_the_begin_late_is_waited_for_or_makes_it_inactive_everywhere(tmp_path):
    """Rank 0 waits 5 s for rank 1, and that 15 s for rank 0, whatever the MPI library.

    One job of a library at a time: of several at once Open MPI's mpirun has said that a rank which
    had ended well left without MPI_Finalize.
    """
    waited = {"rank": 0, "SLOW_S": "6"}
    kinds = {"openmpi": [waited, {"rank": 0}], "mpich": [waited, {"rank": 1}]}

    def jobs_of(name):
        return [(name, kind, late_from_init(name, tmp_path, **kind)) for kind in kinds[name]]

    with ThreadPoolExecutor(len(kinds)) as at_once:
        found = [each for own in at_once.map(jobs_of, kinds) for each in own]
    for name, kind, job in found:
        about = f"{name}, {kind}: {job.err}"
        job.check()
        assert ("calls of rank" in job.err) is (kind is waited), about
        named = set(
            re.findall(r"inactive.* rank (\d) of 2 does not have .*, or left MPI_Init", job.err)
        )
        assert named == (set() if kind is waited else {"0"} if kind["rank"] == 0 else {"0", "1"}), (
            about
        )


@both_families
def test_a_rank_without_the_library_makes_it_inactive_everywhere(name):
    program_path = cases_of(name)
    launch = launcher_of(name, 1, [program_path, "reductions", "moves"])
    with_it = preload.preloading(launch.command, preload.library(), {"LATECOMER_STATS": "1"})
    with_it = local(with_it)
    job = run_command([*with_it, ":", "-n", "2", program_path, "reductions", "moves"], launch.env)
    job.check()
    assert job.err.count("inactive") == 1
    assert "rank 1 of 3 does not have the drop-in library" in job.err
    assert "calls of rank" not in job.err


@both_families
def test_all_programs_of_a_command_get_the_library(name):
    program_path = cases_of(name)
    launch = launcher_of(name, 1, [program_path, "reductions", "moves"])
    command = [*local(launch.command), ":", "-n", "2", program_path, "reductions", "moves"]
    command = preload.preloading(command, preload.library(), {"LATECOMER_STATS": "1"})
    job = run_command(command, launch.env)
    job.check()
    assert "inactive" not in job.err
    assert "calls of rank 0 of 3" in job.err, job.err


def local(words):
    """Without the options that only the first part of a command may have."""
    kept, skip = [words[0]], 0
    for word, after in zip(words[1:], [*words[2:], ""], strict=True):
        if skip:
            skip -= 1
        elif word in ("--host", "-hosts", "-launcher") and after.startswith(("localhost", "fork")):
            skip = 1
        elif word.startswith("-genv"):
            kept.append("-env")
        else:
            kept.append(word)
    return kept


@both_families
def test_settings_that_differ_make_it_inactive_and_are_named(name):
    program_path = cases_of(name)
    launch = launcher_of(name, 1, [program_path, "reductions"])
    one, other = (
        local(preload.preloading(launch.command, preload.library(), {"LATECOMER_ALGORITHM": word}))
        for word in ("ring", "auto")
    )
    job = run_command([*one, ":", *other[1:]], launch.env)
    job.check()
    assert "settings differ between ranks: LATECOMER_ALGORITHM" in job.err


SPELLINGS = {
    "LATECOMER": ("on", ""),
    "LATECOMER_ALGORITHM": (
        "allreduce:segmented_ring:segments=2;bcast:native",
        "bcast:native;allreduce:segmented_ring:segments=2;reduce:auto",
    ),
    "LATECOMER_REPRODUCIBLE": ("0", ""),
    "LATECOMER_MIN_BYTES": ("1KiB", "1024"),
    "LATECOMER_STATS": ("0", ""),
    "LATECOMER_SUMMARY": ("{folder}/one", "{folder}/other"),
    "LATECOMER_NETWORK": ("alpha=50us,beta=1e1ns", "@{folder}/network"),
    "LATECOMER_NODES": ("off", "1"),
    "LATECOMER_RULES": ("{folder}/rules", "{folder}/../{name}/rules"),
    "LATECOMER_TRACE": ("{folder}/trace", "{folder}/./trace/"),
    "LATECOMER_TRACE_BYTES": ("1MiB", "1024KiB"),
    "LATECOMER_WAIT": ("auto", "poll"),
}


@both_families
def test_settings_may_be_written_in_another_way_on_another_rank(name, tmp_path):
    (tmp_path / "network").write_text("# ours\nbeta=10ns,alpha=0.05ms\n")
    (tmp_path / "rules").write_text(json.dumps(
        {"rule_file_version": 1, "module": "latecomer",
         "collectives": {"allreduce": [{"rules": [{"alg": "ring"}]}]}}
    ))  # fmt: skip
    launch = launcher_of(name, 1, [cases_of(name), "reductions"])

    def words(variables):
        variables = {key: text.format(folder=tmp_path, name=tmp_path.name)
                     for key, text in variables.items()}  # fmt: skip
        return local(preload.preloading(launch.command, preload.library(), variables))

    both = [{key: way[number] for key, way in SPELLINGS.items()} for number in (0, 1)]
    one, other = map(words, both)
    assert run_command([*one, ":", *other[1:]], launch.env).check().err == ""
    assert json.loads((tmp_path / "one").read_text())["ranks"] == 2


@both_families
def test_it_can_be_switched_off(name):
    job = run_cases(name, 2, ["reductions"], {"LATECOMER": "off", "LATECOMER_STATS": "1"})
    assert "latecomer" not in job.check().err


# One thread begins MPI, and the other one calls it as soon as that has begun.
OTHER_THREAD = """
#include <mpi.h>
#include <pthread.h>
#include <unistd.h>
static void *begin(void *provided) {
  MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, provided);
  return NULL;
}
int main(void) {
  static int ours[1 << 14], sums[1 << 14];
  int begun = 0, provided, ranks, mistakes = 0;
  pthread_t thread;
  pthread_create(&thread, NULL, begin, &provided);
  while (MPI_Initialized(&begun), !begun) usleep(100);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int call = 1; call <= 30; ++call) {
    for (int i = 0; i < 1 << 14; ++i) ours[i] = call * i;
    MPI_Allreduce(ours, sums, 1 << 14, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 1 << 14; ++i) mistakes += sums[i] != ranks * call * i;
  }
  pthread_join(thread, NULL);
  MPI_Finalize();
  return mistakes != 0;
}
"""


@both_families
def test_other_threads_learn_that_mpi_has_begun_when_the_library_has(name, tmp_path):
    (tmp_path / "program.c").write_text(OTHER_THREAD)
    (tmp_path / "slow.c").write_text(SLOW)
    mpicc = installed(name).mpicc
    tool = shared_library(mpicc, tmp_path / "slow.c", tmp_path / "slow.so")
    subprocess.run([mpicc, tmp_path / "program.c", "-o", tmp_path / "program", "-lpthread"],
                   check=True)  # fmt: skip
    variables = {
        "LD_PRELOAD": f"{preload.library()} {tool}",
        "LATECOMER_SUMMARY": str(tmp_path / "job.json"),
        "SLOW_RANK": "0",
        "SLOW_S": "1",
    }
    launch = launcher_of(name, 2, [tmp_path / "program"])
    job = run_command(preload.with_variables(launch.command, variables), launch.env)
    assert (job.code, job.err) == (0, "")
    summary = json.loads((tmp_path / "job.json").read_text())
    calls = summary["calls"]
    assert calls["handled"] + calls["native"] == 2 * 30, summary
