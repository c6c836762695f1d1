"""Fuzzes every reader of foreign bytes, in C++ by libFuzzer and in Python by Atheris.

    .venv/bin/python evidence/fuzz.py --seconds 60 --seed 1 [--keep] [READER ...]

Prints how many inputs each reader had. An input that breaks a promise of its table
(tests/fuzz/readers_test.cpp, tests/python/fuzz_helpers.py) becomes a file in build/fuzz/found/, and
the exit code is 1. --keep adds to tests/fuzz/corpus/ few inputs that reach what none reached.
It needs Clang and Atheris: apt-get install clang libclang-rt-dev, pip install atheris.
"""

import argparse
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "fuzz"
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
PROGRAM = BUILD / "tests" / "fuzz_readers"
LONGEST = 4096  # bytes of an input
STACK = 512  # KiB; the sanitizer clears all of it at each exception
sys.path += [str(ROOT / "python"), str(ROOT / "tests" / "python")]


def of_cpp() -> list[str]:
    """The names in the table of the C++ readers."""
    text = (ROOT / "tests" / "fuzz" / "readers_test.cpp").read_text()
    return re.findall(r'\{"(\w+)", \w+\}', text)


def build() -> None:
    """Build the C++ readers with Clang."""
    compilers = [shutil.which(name) or shutil.which(f"{name}-19") for name in ("clang", "clang++")]
    if None in compilers:
        sys.exit("fuzz.py: there is no Clang; apt-get install clang libclang-rt-dev")
    options = [f"-DCMAKE_{language}_COMPILER={path}"
               for language, path in zip(("C", "CXX"), compilers, strict=True)]  # fmt: skip
    subprocess.run([ROOT / "tools" / "build.sh", "fuzz", "fuzz_readers",
                    str(os.cpu_count()), *options], check=True)  # fmt: skip


def inside(name: str, words: list[str]) -> None:
    """Run a Python reader under Atheris, which reads libFuzzer's words."""
    import atheris
    import numpy as np

    with atheris.instrument_imports(include=["latecomer"]):
        import fuzz_helpers
    from latecomer.report.trace import otf2_archive

    otf2_archive.STILL = 1.0  # seconds in which OTF2's library may stand still
    reader = fuzz_helpers.READERS[name]

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        if seed % 2:
            return atheris.Mutate(data, most)
        return fuzz_helpers.changed(data, np.random.default_rng(seed))[:most]

    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        at = reader.folder(Path(folder))
        again = shlex.join([sys.executable, __file__, "--inside", name])  # for parts of a merge
        atheris.Setup([again, *words], lambda data: reader(at, data, limits=True),
                      custom_mutator=mutate)  # fmt: skip
        atheris.Fuzz()


def command(name: str, *words: str) -> list[str]:
    """The program that feeds a reader, with libFuzzer's words."""
    if name in of_cpp():
        return ["env", f"LATECOMER_FUZZ={name}", str(PROGRAM), *words]
    return [sys.executable, __file__, "--inside", name, *words]


def run(name: str, seconds: int, seed: int) -> bool:
    """Fuzz one reader. True: it keeps its promises."""
    own = BUILD / "corpus" / name
    own.mkdir(parents=True, exist_ok=True)
    (BUILD / "found").mkdir(exist_ok=True)
    words = [f"-max_total_time={seconds}", f"-seed={seed}", f"-max_len={LONGEST}", "-timeout=20",
             "-rss_limit_mb=4096", "-print_final_stats=1",
             f"-artifact_prefix={BUILD}/found/{name}-"]  # fmt: skip
    limited = ["bash", "-c", f'ulimit -s {STACK}; exec nice "$@"', "bash"]
    whole = command(name, *words, str(own), str(CORPUS / name))
    first = limited if name in of_cpp() else ["nice"]
    done = subprocess.run(
        [*first, *whole], capture_output=True, text=True, errors="replace", check=False
    )
    count = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    print(f"{name}: {count[1] if count else 'an unknown number of'} inputs, "
          f"{'no fault' if done.returncode == 0 else 'A FAULT'}", flush=True)  # fmt: skip
    if done.returncode:
        print(done.stderr[-3000:])
    return done.returncode == 0


def keep(name: str) -> None:
    """Add to the corpus what reaches more of the reader."""
    words = ["-merge=1", "-use_counters=0", f"-max_len={LONGEST}"]
    subprocess.run(command(name, *words, str(CORPUS / name), str(BUILD / "corpus" / name)),
                   capture_output=True, check=True)  # fmt: skip


def main() -> int:
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2], sys.argv[3:])
        return 0
    from fuzz_helpers import READERS

    known = [*of_cpp(), *READERS]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("readers", nargs="*", metavar="READER", help=", ".join(known))
    parser.add_argument("--seconds", type=int, default=60, help="of each reader")
    parser.add_argument("--seed", type=int, default=random.randrange(1, 1 << 31))
    parser.add_argument("--keep", action="store_true", help="what reaches more")
    asked = parser.parse_args()
    if wrong := [name for name in asked.readers if name not in known]:
        parser.error(f"{wrong[0]}: no reader; right would be some of {', '.join(known)}")
    names = asked.readers or known
    if set(names) & set(of_cpp()):
        build()
    print(f"seed {asked.seed}, {asked.seconds} s a reader")
    good = [run(name, asked.seconds, asked.seed) for name in names]
    for name in names if asked.keep else ():
        keep(name)
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
