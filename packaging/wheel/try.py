"""Installs a wheel of make.py in bare Debian systems, and asks there who is late.

    .venv/bin/python packaging/wheel/try.py WHEEL [bullseye|bookworm|trixie]...

needs root, mmdebstrap, and the folders of make.py's last run. Each system has Python and its own
Open MPI and MPICH, and neither a compiler nor a network. MPI 5's ABI is that of MPICH's wheel. The
seconds of a line are from `pip install` to the first sentence. Then the module file inside the
wheel, `latecomer.Communicator` with mpi4py's wheel, and each command of docs/tutorial.md are tried.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import zipfile
from pathlib import Path

from bare import inside, make_root
from latecomer.base.errors import UserError
from latecomer.launch import mpi
from make import GLIBC_FOLDER, ROOT, WORK, make_tools
from old_glibc import run, words_for

SUITES = {"bullseye": "3.9", "bookworm": "3.11", "trixie": "3.13"}  # and their Python
OLDEST = (3, 10)
PACKAGES = "python3,python3-venv,openmpi-bin,mpich,environment-modules,iproute2"
PROGRAM = ROOT / "examples" / "late" / "late.c"  # rank 1 is late in it
FOUND = "Rank 1 on host"
SUMS = """from array import array
from mpi4py import MPI
import latecomer
comm = latecomer.Communicator(MPI.COMM_WORLD, algorithm={"allreduce": "ring"})
mine, total = array("d", [1]) * 65536, array("d", [0]) * 65536
comm.Allreduce(mine, total)
if comm.rank == 0 and total[-1] == comm.size:
    print(comm.stats().handled, "call of mpi4py handled")
"""
LAUNCH = {
    "openmpi": "mpirun.openmpi --oversubscribe -n 2 {set} {app}",
    "mpich": "mpiexec.mpich {set} -n 2 {app}",
    "abi": "/opt/v/bin/mpiexec {set} -n 2 {app}",
}
TUTORIAL = ROOT / "docs" / "tutorial.md"
# As on the page; a command that fails ends the script.
BEGIN = """mkdir /opt/tutorial; cd /opt/tutorial
cp /opt/given/late-openmpi late; ln -s /opt/v/bin/latecomer .
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
set -x"""
END = """test -s late.html -a -s ring.svg -a -s owners.svg -a -s call.html
echo tutorial: {} commands"""
INSTALL = "python3 -m venv /opt/v; /opt/v/bin/pip install -q --no-index --find-links {} {}"
MODULE = """. /usr/share/modules/init/sh
module use /opt/v/lib/python3*/site-packages/latecomer/share/modulefiles
module load latecomer
export LATECOMER=observe"""


def check(wheel: Path, suites: list[str]) -> None:
    """Raises UserError for a wheel that is not there, and a system that is not known."""
    wrong = [suite for suite in suites if suite not in SUITES]
    if not wheel.exists():
        wrong = [str(wheel)]
    if wrong:
        remedy = f"name a wheel of make.py, and any of {', '.join(SUITES)}"
        raise UserError("cannot try", wrong[0], remedy)


def collect(wheel: Path, tools: Path, folder: Path) -> None:
    """Fills `folder` with the wheel, what it needs, and the program for each family."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("latecomer-*.whl"):
        old.unlink()
    (folder / wheel.name).write_bytes(wheel.read_bytes())
    needed = re.findall(r"^Requires-Dist: ([^;\n]+)$", metadata(wheel), re.MULTILINE)
    for version in list(SUITES.values())[1:]:
        run(tools / "python", "-m", "pip", "download", "-q", "--disable-pip-version-check",
            "--only-binary", ":all:", "-d", folder, "--python-version", version,
            *(word for name in ("manylinux_2_28", "manylinux_2_17", "manylinux2014")
              for word in ("--platform", f"{name}_x86_64")),
            *needed, "mpich", "mpi4py")  # fmt: skip
    (folder / "sums.py").write_text(SUMS)
    for family in mpi.families():
        wrappers = {family.name: family.mpicc}
        if family.name == "mpich" and family.mpicc:
            wrappers["abi"] = Path(f"{family.mpicc}_abi")
        for name, mpicc in wrappers.items():
            run(mpicc, PROGRAM, "-o", folder / f"late-{name}", *words_for(GLIBC_FOLDER))


def metadata(wheel: Path) -> str:
    """The metadata of the wheel."""
    with zipfile.ZipFile(wheel) as opened:
        (name,) = [name for name in opened.namelist() if name.endswith(".dist-info/METADATA")]
        return opened.read(name).decode()


def ways(family: str, wheel: Path, of_python: bool) -> list[tuple[str, list[str], str]]:
    """The trials of a family, each in a fresh system: its name, commands, a sign of success.

    Without a Python for the wheel it is the drop-in library alone, preloaded by hand.
    """
    app = f"/opt/given/late-{family}" + ("-debian" if family == "mpich" else "")
    if not of_python:
        library = "/opt/v/latecomer/lib/liblatecomer_preload.so"
        give = "-genv {} {}" if family == "mpich" else "-x {}={}"
        settings = {"LD_PRELOAD": library, "LATECOMER_STATS": "1", "LATECOMER": "observe"}
        given = " ".join(give.format(*each) for each in settings.items())
        unpack = f"python3 -m zipfile -e /opt/given/{wheel.name} /opt/v"
        launch = f"{LAUNCH[family].format(set=given, app=app)} 20"
        return [] if family == "abi" else [("preloaded", [unpack, launch], FOUND)]
    named = f"/opt/given/{wheel.name}" + (" mpich" if family == "abi" else "")
    install = INSTALL.format("/opt/given", named)
    if family == "abi":
        install = f"export LD_LIBRARY_PATH=/opt/v/lib; {install}"
    launch = LAUNCH[family].format(set="", app=f"{app} 20")
    found = [
        ("who is late", [install, f"/opt/v/bin/latecomer run --observe -- {launch}"], FOUND),
        ("module", [install, MODULE, launch], FOUND),
    ]
    if family != "mpich":  # mpi4py's wheel does not find Debian 12's MPICH
        library = {"openmpi": "libmpi.so.40", "abi": "libmpi.so.12"}[family]
        app = "/opt/v/bin/python /opt/given/sums.py"
        words = [f"{install} mpi4py", f"export MPI4PY_LIBMPI={library}",
                 LAUNCH[family].format(set="", app=app)]  # fmt: skip
        found.append(("mpi4py", words, "1 call of mpi4py handled"))
    if family == "openmpi":
        commands = tutorial()
        end = END.format(len(commands))
        found.append(("tutorial", [install, BEGIN, *commands, end], f"tutorial: {len(commands)}"))
    return found


def tutorial() -> list[str]:
    """The commands of the tutorial that need no compiler and no clone."""
    return re.findall(r"^ {4}(\./latecomer (?:.*\\\n)*.*)$", TUTORIAL.read_text(), re.MULTILINE)


def try_system(suite: str, given: Path, wheel: Path, tools: Path) -> bool:
    """Prints what a system says of each family; True if all said what they should."""
    root = make_root(WORK / "roots" / suite, suite, PACKAGES)
    compilers = inside(root, given, "command -v cc gcc c++ g++ clang || true").strip()
    if compilers:
        raise UserError(f"{root} has a compiler", compilers, "remove the folder")
    # Debian's MPICH has a name of its own.
    run(tools / "patchelf", "--replace-needed", "libmpi.so.12", "libmpich.so.12",
        "--output", given / "late-mpich-debian", given / "late-mpich")  # fmt: skip
    of_python = tuple(map(int, SUITES[suite].split("."))) >= OLDEST
    good = True
    for family in LAUNCH:
        for name, words, sign in ways(family, wheel, of_python):
            begin = time.monotonic()
            said = inside(root, given, "\n".join(words))
            seconds = time.monotonic() - begin
            line = next((line for line in said.splitlines() if sign in line), "")
            good = good and bool(line)
            text = line or f"NO ANSWER: {said}"
            print(f"{suite} {family} {name}: {seconds:.0f} s: {text}", flush=True)
    return good


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("suite", nargs="*")
    wishes = parser.parse_args()
    given = WORK / "given"
    try:
        check(wishes.wheel, wishes.suite)
        tools = make_tools()
        collect(wishes.wheel.resolve(), tools, given)
        suites = wishes.suite or SUITES
        results = [try_system(suite, given, wishes.wheel, tools) for suite in suites]
    except UserError as refused:
        sys.exit(f"latecomer: {refused}")
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
