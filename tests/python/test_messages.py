"""Messages in traces: with the drop-in library, on both MPI libraries."""

import subprocess
from collections import Counter

import numpy as np
import pytest
from dropin_helpers import compiled_fortran, launcher_of, run_command, shared_library
from latecomer.launch import preload, program
from latecomer.report.analysis.answer import answer, facts
from latecomer.report.analysis.cut import analysed
from latecomer.report.trace import native_file as native
from latecomer.report.trace import read
from latecomer.report.trace.left_out import LeftOut
from latecomer.report.trace.model import SERVED
from mpi_helpers import installed
from scenes_helpers import ROOT, both_families

LATE = ROOT / "tests" / "dropin" / "messages" / "late.c"
POLLS = ROOT / "tests" / "dropin" / "messages" / "polls.c"
ODD = ROOT / "tests" / "dropin" / "messages" / "odd.c"
MADE = ROOT / "tests" / "dropin" / "messages" / "made.c"
IN_FORTRAN = ROOT / "tests" / "dropin" / "fortran" / "messages.F90"
BINDINGS = {"mpif_h": 1, "use_mpi": 2, "mpi_f08": 3}
SHORT = r"""
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  int rank, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < atoi(argv[1]); ++i) {
    if (rank == 0) MPI_Ssend(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD); /* no rank runs ahead */
    if (rank == 1) MPI_Recv(&sum, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return MPI_Finalize();
}
"""

NONBLOCKING, PERSISTENT, MATCHED_PROBE = 1, 2, 16  # bits of a message's flags
ENDS_EPOCH = -4  # the tag of what MPI_Win_test may end


def calls_of(path, overlaps=0):
    """The records of the calls in a file, right or wrong; `overlaps`: of those of this value."""
    used = int(np.fromfile(path, native.HEADER, 1)["used"][0])
    calls = np.fromfile(path, native.CALL, used, offset=native.HEADER.itemsize)
    return calls[(calls["kind"] == native.A_CALL) & (calls["overlaps"] == overlaps)]


def built(name):
    """The program's file for that MPI library, compiled once."""
    if program.find_built(preload.WITH_MESSAGES) is None:
        pytest.skip("the drop-in library is not built")
    return installed(name).mpicc


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder, made = tmp_path_factory.mktemp("programs"), {}

    def compiled(name, source):
        mpicc = built(name)
        if (name, source) not in made:
            path = folder / f"{name}.c"
            path.write_text(source)
            made[name, source] = folder / f"{name}-{len(made)}"
            subprocess.run([mpicc, "-g", path, "-o", made[name, source], "-lpthread"], check=True)
        return str(made[name, source])

    return compiled


def run(name, words, variables, library=None, ranks=2):
    launch = launcher_of(name, ranks, words)
    if library is not None:
        variables = {**variables, "LD_PRELOAD": str(library)}
    return run_command(preload.with_variables(launch.command, variables), launch.env)


def traced(name, words, folder, **more):
    variables = {"LATECOMER_TRACE": str(folder), **more}
    return run(name, words, variables, preload.library(messages=True))


def files_of(folder, ranks=2):
    """Each rank's file, of which all is right."""
    found = []
    for rank in range(ranks):
        left = LeftOut()
        found += native.read([folder / f"rank-{rank}.trace"], left)
        assert left.remarks() == []
    return found


def lines_of(file):
    """The messages as the program tells them, in the order in which they were begun."""
    messages = file.messages[np.argsort(file.messages["order"])]
    return [f"{file.comms[int(each['communicator'])].name} "
            f"{native.WHAT[each['what']].replace(' ', '_')} {each['flags']} {each['peer']} "
            f"{each['tag']} {each['bytes']}" for each in messages]  # fmt: skip


def without_threads(lines):
    """Those of one thread: the order of others is by chance."""
    return [line for line in lines if not line.startswith("threads")]


@both_families
@pytest.mark.parametrize("threads", [[], ["threads"]])
def test_odd_messages_are_as_without_the_library_and_in_the_trace(
    name, threads, programs, tmp_path
):
    path = programs(name, ODD.read_text())
    files = {"OMPI_MCA_io": "^ompio"} if threads else {}  # ROMIO, which calls MPI_ functions
    for folder in ("plain", "seen"):
        (tmp_path / folder).mkdir()
    job = run(name, [path, str(tmp_path / "plain"), *threads], files)
    assert job.code == 0, job.err
    job = traced(name, [path, str(tmp_path / "seen"), *threads], tmp_path / "trace", **files)
    assert (job.code, job.err) == (0, "")
    for rank, file in enumerate(files_of(tmp_path / "trace")):
        for what in ("seen", "expected"):
            plain, seen = (
                (tmp_path / each / f"{rank}.{what}").read_text() for each in ("plain", "seen")
            )
            assert seen == plain
        *expected, last = seen.splitlines()
        found = lines_of(file)
        assert without_threads(found) == without_threads(expected)
        assert Counter(found) == Counter(expected)
        assert file.messages_traced
        assert f"lost {file.messages_lost}" == last
        check_times(file)
        check_begun(file, name)
        check_objects(file)


def check_times(file):
    """Blocking calls begin where they are posted, or later by the time between tests in vain;
    those of a wait end together."""
    messages = file.messages
    apart = messages["flags"] & (NONBLOCKING | PERSISTENT) != 0
    matched = messages["flags"] & MATCHED_PROBE != 0
    blocking = ~apart & ~matched
    began = messages["posted"] + messages["between"]
    assert (messages["begin"][blocking] == began[blocking]).all()
    tests = (messages["what"] == native.WHAT.index("probe")) | (messages["tag"] == ENDS_EPOCH)
    assert not messages["between"][blocking & ~tests].any()
    assert (messages["begin"][apart] > messages["posted"][apart]).all()
    assert {file.texts[int(each)].partition("+")[0] for each in messages["site"]} != {""}
    ends = Counter(messages["end"][apart].tolist())
    assert max(ends.values()) >= 80  # of one MPI_Waitall


def check_begun(file, name):
    """Non-blocking collectives have numbers among the others, in the order of their begins."""
    calls, overlapping = (calls_of(file.path, overlaps) for overlaps in (0, 1))
    begun = [file.texts[int(each)] for each in overlapping["collective"]]
    persistent = 3 * ["allreduce_init"] if name == "mpich" else []
    assert begun == ["iallreduce", "ibarrier", "ibcast", *persistent]
    assert overlapping["root"].tolist() == [-1, -1, 1, *(-1 for _ in persistent)]
    numbers = overlapping["sequence"].tolist()
    assert numbers[:3] == list(range(numbers[0], numbers[0] + 3))
    comm = overlapping["communicator"][0]
    blocking = calls[calls["communicator"] == comm]["sequence"].tolist()
    assert sorted(numbers + blocking) == list(range(len(numbers) + len(blocking)))
    barrier = calls[calls["sequence"] == numbers[0] + 3]["arrival"].min()
    assert overlapping["exit"][0] > barrier
    completed = {(int(each["communicator"]), int(each["sequence"])): int(each["begin"])
                 for each in file.completions}  # fmt: skip
    for each in overlapping:
        begin = completed.pop((int(each["communicator"]), int(each["sequence"])))
        assert each["arrival"] < begin < each["exit"]
    assert not completed


def check_objects(file):
    """Windows and files are communicators of their own."""
    names = {comm.name: number for number, comm in file.comms.items()}
    calls = calls_of(file.path)
    for name, expected in {
        "window": ["win_create"],
        "window 1 of window": ["win_fence", "win_fence", "win_free"],
        "file": ["file_open", "file_open"],
        "file 2 of file": ["file_write_at_all", "file_sync", "file_close"],
    }.items():
        own = calls[calls["communicator"] == names[name]]
        assert [file.texts[int(each)] for each in own["collective"]] == expected
        assert own["sequence"].tolist() == list(range(len(expected)))
        no_data = [at == 0 and "of window" in name for at in range(len(expected))]
        assert own["bytes"].tolist() == [0 if none else -1 for none in no_data]
        failed = [at == 0 and name == "file" for at in range(len(expected))]
        served = [SERVED[each] for each in own["served"]]
        assert served == ["failed" if each else "not handled" for each in failed]


@both_families
def test_communicators_are_the_same_on_all_ranks_however_they_were_made(name, programs, tmp_path):
    """Ranks use them in other orders, first for messages."""
    words = [programs(name, MADE.read_text()), *(["ports"] if name == "openmpi" else [])]
    variables = {"LATECOMER_TRACE": str(tmp_path)}
    job = run(name, words, variables, preload.library(messages=True), ranks=4)
    assert (job.code, job.err) == (0, "")
    count = int(job.out)
    names = [
        {comm.key: comm.name for comm in file.comms.values()} for file in files_of(tmp_path, 4)
    ]
    found = [{key: each for key, each in own.items() if each[-1].isdigit()} for own in names]
    assert len(found[0]) == len(set(found[0].values())) == count
    assert found == [found[0]] * 4
    messages = read(tmp_path).messages
    assert (len(messages), messages.unmatched) == (4 * count, 0)


@both_families
def test_without_the_other_loader_messages_go_untouched(name, programs, tmp_path):
    path = programs(name, SHORT)
    job = run(name, [path, "10"], {"LATECOMER_TRACE": str(tmp_path)}, preload.library())
    assert (job.code, job.err) == (0, "")
    for file in files_of(tmp_path):
        assert not file.messages_traced
        assert (len(file.messages), len(calls_of(file.path))) == (0, 1)


BOUND_AT_ONCE = r"""
#include <mpi.h>
int written(void) {
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(MPI_COMM_SELF, "file", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  const int code = MPI_File_write_c(file, "a", 1, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  return code;
}
"""
WRITES = r"""
#include <mpi.h>
int written(void);
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = written();
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return code;
}
"""


def test_the_linker_is_silent_about_files_in_libraries_bound_at_once(tmp_path, monkeypatch):
    """As MPICH is where it is linked with -z now; its functions of files call each other's names."""
    monkeypatch.chdir(tmp_path)
    compiler = built("mpich")
    for name, text in (("bound.c", BOUND_AT_ONCE), ("writes.c", WRITES)):
        (tmp_path / name).write_text(text)
    library = shared_library(compiler, tmp_path / "bound.c", tmp_path / "libbound.so", "-Wl,-z,now")
    main = tmp_path / "writes"
    subprocess.run(
        [compiler, "writes.c", "-o", main, library, f"-Wl,-rpath,{tmp_path}"], check=True
    )
    job = run("mpich", [main], {"LATECOMER_TRACE": "t"}, preload.library(messages=True), ranks=2)
    assert (job.code, job.err, (tmp_path / "file").read_text()) == (0, "", "a")
    assert (read(tmp_path / "t").others.calls & 4).any()  # files


@pytest.mark.parametrize(("messages", "there"), [(False, False), (True, True)])
def test_only_one_loader_has_functions_for_messages(messages, there):
    if program.find_built(preload.WITH_MESSAGES) is None:
        pytest.skip("the drop-in library is not built")
    library = preload.library(messages=messages)
    listed = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True)
    names = {line.split()[-1] for line in listed.stdout.splitlines()}
    assert {"MPI_Allreduce", "PMPI_Allreduce", "mpi_allreduce_", "MPI_Iallreduce"} <= names
    for symbol in ("MPI_Send", "PMPI_Send", "MPI_Wait", "PMPI_Waitall", "MPI_Test", "mpi_send_",
                   "mpi_wait_f08_", "MPI_Start", "MPI_Cancel", "MPI_Isend_c"):  # fmt: skip
        assert (symbol in names) == there


@both_families
def test_a_family_s_library_alone_traces_messages_too(name, programs, tmp_path):
    path, family = programs(name, SHORT), preload.library().parent
    library = family / f"liblatecomer_preload_{name}.so"
    job = run(name, [path, "10"], {"LATECOMER_TRACE": str(tmp_path)}, library)
    assert (job.code, job.err) == (0, "")
    assert [len(file.messages) for file in files_of(tmp_path)] == [10, 10]


@both_families
def test_messages_leave_a_part_of_the_file_to_calls(name, programs, tmp_path):
    path = programs(name, SHORT)
    job = traced(name, [path, "2000"], tmp_path, LATECOMER_TRACE_BYTES="64KiB")
    assert job.code == 0
    assert "probes and other waits are not in the trace, whose file is full" in job.err
    for file in files_of(tmp_path):
        assert len(file.messages) + file.messages_lost == 2000
        assert 600 < len(file.messages) < 800
        assert (len(calls_of(file.path)), int(file.header["dropped"])) == (1, 0)
    found = analysed(read(tmp_path))
    assert 0 < found.known < 1
    assert "set LATECOMER_TRACE_BYTES to more" in answer(found).text()


@both_families
def test_ranks_with_different_loaders_are_told(name, programs, tmp_path):
    path = programs(name, SHORT)
    folder = str(tmp_path / "trace")
    libraries = [preload.library(messages=each) for each in (False, True)]
    words = ["sh", "-c", f"rank=${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}; test $rank = 0 && "
             f"export LD_PRELOAD={libraries[0]} || export LD_PRELOAD={libraries[1]}; "
             f"exec {path} 10"]  # fmt: skip
    job = run(name, words, {"LATECOMER_TRACE": folder})
    assert job.code == 0
    assert "settings differ between ranks: LATECOMER_TRACE (or only some ranks" in job.err
    job = run(name, words, {"LATECOMER_LOG": "info"})  # without a trace they are alike
    assert job.code == 0
    assert "is active on all ranks" in job.err


@both_families
@pytest.mark.parametrize("binding", BINDINGS)
def test_messages_of_a_fortran_program(name, binding, tmp_path):
    built(name)
    binds = f"-DBINDING={BINDINGS[binding]}"
    path = compiled_fortran(name, IN_FORTRAN, tmp_path / "messages", binds)
    job = traced(name, [str(path)], tmp_path / "trace")
    assert (job.code, job.err) == (0, "")
    assert "mistakes: 0" in job.out
    for rank, file in enumerate(files_of(tmp_path / "trace")):
        other = 1 - rank
        first = ([f"send 0 {other} 5 24", f"synchronous_send 0 {other} 6 0"] if rank == 0 else
                 [f"receive 12 {other} 5 24", f"receive 0 {other} 6 0"])  # fmt: skip
        both = [f"send 0 {other} 7 16", f"receive 0 {other} 7 16"]
        apart = [f"{what} 1 {other} {i} {8 * i}" for i in (1, 2) for what in ("receive", "send")]
        kept = [f"{what} 2 {other} 9 64" for what in ("receive", "send")]
        expected = [*first, *both, *apart, *apart, *kept, *kept]
        assert lines_of(file) == [f"MPI_COMM_WORLD {each}" for each in expected]
        assert file.messages_lost == 0
        assert {file.texts[int(each)].partition("+")[0] for each in file.messages["site"]} == {
            "messages"
        }


@pytest.mark.parametrize("form", ["wavefront", "halo", "started", "overlapped"])
@both_families
def test_who_is_late_is_told_whoever_hands_it_on(name, form, programs, tmp_path):
    """The rank computes 30 times as long as the others: far more than what a busy machine adds."""
    words = [programs(name, LATE.read_text()), form, "20", "1"]
    variables = {"LATECOMER_TRACE": str(tmp_path / "t")}
    job = run(name, words, variables, preload.library(messages=True), ranks=3)
    assert job.code == 0, job.err
    trace = read(tmp_path / "t")
    assert len(trace.messages) == {"wavefront": 40, "halo": 120}.get(form, 0)
    assert trace.messages.unmatched == 0
    assert sum(map(len, trace.overlapping)) == (20 if form in ("started", "overlapped") else 0)
    found = analysed(trace)
    print(answer(found).text())
    assert facts(found).late == [1]


@pytest.mark.parametrize(("form", "slow", "sure"), [
    ("probes", 1, True), ("naps", 1, True), ("tests", 1, False), ("iprobes", 1, False),
    ("groups", 0, True), ("groups", 1, True), ("windows", 0, True), ("windows", 1, True),
    ("fences", 1, True), ("files", 1, True), ("neighbours", 1, True), ("neighbours_later", 1, True),
])  # fmt: skip
@both_families
def test_no_innocent_is_named_however_ranks_wait(
    form, slow, sure, name, programs, tmp_path, monkeypatch
):
    """Between calls that test a rank may be stopped, so it is not sure that it does not compute; if it
    sleeps there again and again it does not."""
    monkeypatch.chdir(tmp_path)  # where one form writes a file
    words = [programs(name, LATE.read_text()), form, "20", str(slow)]
    variables = {"LATECOMER_TRACE": str(tmp_path / "t")}
    job = run(name, words, variables, preload.library(messages=True), ranks=3)
    assert job.code == 0, job.err
    trace = read(tmp_path / "t")
    assert int((trace.messages.probes.message >= 0).sum()) == (40 if "probes" in form else 0)
    assert (trace.messages.unmatched, trace.messages.uncertain) == (0, 0)
    files_of(tmp_path / "t", 3)  # all of them are right
    found = analysed(trace)
    print(answer(found).text())
    late = facts(found).late
    assert late == [slow] if sure else list(late) in ([], [slow])


@pytest.mark.parametrize("form", ["chunks", "tasks"])
@both_families
def test_computation_between_tests_is_no_waiting(form, name, programs, tmp_path):
    """On a busy machine, too, which stops ranks while they compute."""
    words = [programs(name, POLLS.read_text()), form, "10"]
    job = run(name, words, {"LATECOMER_TRACE": str(tmp_path)}, preload.library(messages=True), 3)
    assert job.code == 0, job.err
    computed, rest = np.array([line.split() for line in job.out.splitlines()], float).T
    found = analysed(read(tmp_path)).origin
    inside = found.waiting + found.moving + found.unknown
    np.testing.assert_array_less(np.abs(inside - rest), 0.1 * (computed + rest))
