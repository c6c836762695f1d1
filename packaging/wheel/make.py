"""Makes a wheel that needs no compiler where it is installed, of the release build.

    .venv/bin/python packaging/wheel/make.py [--build build/release] [FOLDER]

writes latecomer-*-cp310-abi3-manylinux_2_28_x86_64.whl into FOLDER (default: dist) and prints its
SHA-256. It serves CPython from 3.10 on and all MPI families that were built. Decision 31 says why
it is made so.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import old_glibc
from latecomer.base.errors import UserError
from old_glibc import run

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
WORK = ROOT / "build" / "wheel"
GLIBC_FOLDER = WORK / "glibc"
FAMILIES = ("abi", "mpich", "openmpi")
# The part of nanobind that cannot use Python's stable ABI; its own has its major version.
BACKEND = "nanobind-backend>=1,<2"


def targets(names: set[str]) -> dict[str, str]:
    """The files that the wheel takes from the build folder's targets, and its place in the package.

    Raises UserError if the drop-in library of a family is missing, or NCCL's plug-in.
    """
    whole = ("preload", "preload_messages", "nccl")  # for all MPI libraries, and none
    found = {f"liblatecomer_{name}.so": "lib" for name in whole}
    found |= {f"liblatecomer_preload_{family}.so": "lib" for family in FAMILIES}
    missing = sorted(set(found) - names)
    if missing:
        raise UserError(
            "the build folder lacks a library of the wheel", ", ".join(missing),
            f"build with the MPI families {', '.join(FAMILIES)} (tools/prepare.sh test)",
        )  # fmt: skip
    for family in FAMILIES:
        for program in ("bench", "calibrate"):
            if (name := f"latecomer_{program}_{family}") in names:
                found[name] = "libexec/latecomer"
        found |= {
            name: "lib" for name in names if name.startswith(f"lib/liblatecomer_{family}.so.")
        }
    return found


def built(folder: Path) -> set[str]:
    """The libraries and programs of a build folder. Raises UserError if it is none."""
    if not (folder / "build.ninja").exists():
        raise UserError("no build folder of Ninja", folder, "name one by --build")
    return {
        str(path.relative_to(folder))
        for path in (
            *folder.glob("lib*.so"),
            *folder.glob("lib/lib*.so.*"),
            *folder.glob("latecomer_*"),
        )
        if path.is_file()
    }


def make_tools() -> Path:
    """The folder of programs of a Python environment with what makes wheels."""
    wanted = (HERE / "requirements.txt").read_text()
    folder, stamp = WORK / "tools", WORK / "tools" / "installed"
    if not stamp.exists() or stamp.read_text() != wanted:
        venv.create(folder, clear=True, with_pip=True)
        run(folder / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check",
            "-r", HERE / "requirements.txt")  # fmt: skip
        stamp.write_text(wanted)
    return folder / "bin"


def package(tools: Path, build: Path, prefix: Path) -> None:
    """Fills `prefix` with what the wheel holds beside the Python files."""
    packages = next((tools.parent / "lib").glob("python*/site-packages"))
    old_glibc.make_library(GLIBC_FOLDER, packages / "ziglang" / "zig")
    words = old_glibc.words_for(GLIBC_FOLDER)
    shutil.rmtree(prefix, ignore_errors=True)
    for target, place in targets(built(build)).items():
        old_glibc.link_again(build, target, prefix / place / Path(target).name, words)
    folder = WORK / "module"
    run(tools / "cmake", "-S", HERE / "module", "-B", folder, "-G", "Ninja",
        f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}", "-DCMAKE_BUILD_TYPE=Release",
        f"-DPython_EXECUTABLE={tools / 'python'}", f"-DLATECOMER_BUILD={build}",
        f"-Dnanobind_ROOT={packages / 'nanobind' / 'cmake'}",
        f"-DCMAKE_MODULE_LINKER_FLAGS={' '.join(words)}")  # fmt: skip
    run(tools / "cmake", "--build", folder)
    shutil.copy(folder / "_core.abi3.so", prefix)
    for path in prefix.rglob("*"):
        if path.is_file() and (names := old_glibc.undefined(path)):
            raise UserError(
                f"glibc {old_glibc.GLIBC} lacks what {path.name} calls", ", ".join(names),
                "build on an older machine, or add a counterpart in packaging/wheel/old_glibc.py",
            )  # fmt: skip
    # Manual pages, licence, types and module, as in any installation; not what compilers need.
    whole = WORK / "installed"
    shutil.rmtree(whole, ignore_errors=True)
    run(tools / "cmake", "--install", build, "--prefix", whole, "--component", "Unspecified")
    shutil.copytree(whole / "share", prefix / "share")
    shutil.copy(ROOT / "python/latecomer/_core.pyi", prefix)
    shutil.copy(whole / "libexec/latecomer/preload", prefix / "libexec/latecomer")


def pack(tools: Path, prefix: Path, out: Path) -> Path:
    """The wheel of the Python files and `prefix`, with times of the last commit."""
    commit = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%ct"],
                            capture_output=True, text=True, check=True)  # fmt: skip
    same = {"SOURCE_DATE_EPOCH": commit.stdout.strip(), "PATH": f"{tools}:{os.environ['PATH']}"}
    for folder in (WORK / "packed", WORK / "pack"):
        shutil.rmtree(folder, ignore_errors=True)
    run(tools / "python", "-m", "pip", "wheel", ROOT, "--no-build-isolation", "--no-deps", "-q",
        "--disable-pip-version-check", "-w", WORK / "packed",
        "-C", f"cmake.source-dir={HERE}", "-C", f"cmake.define.LATECOMER_PREFIX={prefix}",
        "-C", "wheel.py-api=cp310", "-C", f"build-dir={WORK / 'pack'}", **same)  # fmt: skip
    (wheel,) = (WORK / "packed").glob("*.whl")
    add_dependency(wheel)
    run(tools / "auditwheel", "repair", "--plat", old_glibc.PLATFORM, "--only-plat",
        "--exclude", "libmpi*", "-w", out, wheel, **same)  # fmt: skip
    return out / wheel.name.replace("linux_x86_64", old_glibc.PLATFORM)


def add_dependency(wheel: Path) -> None:
    """Adds BACKEND to what the wheel needs; auditwheel writes the list of check sums again."""
    with zipfile.ZipFile(wheel) as old:
        files = {entry: old.read(entry) for entry in old.infolist()}
    (metadata,) = [entry for entry in files if entry.filename.endswith(".dist-info/METADATA")]
    first = b"\nRequires-Dist: "
    files[metadata] = files[metadata].replace(first, first + BACKEND.encode() + first, 1)
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as new:
        for entry, content in files.items():
            new.writestr(entry, content)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "dist")
    wishes = parser.parse_args()
    try:
        build = wishes.build.resolve()
        targets(built(build))
        tools = make_tools()
        package(tools, build, WORK / "prefix")
        wheel = pack(tools, WORK / "prefix", wishes.folder)
    except UserError as refused:
        sys.exit(f"latecomer: {refused}")
    print(hashlib.sha256(wheel.read_bytes()).hexdigest(), wheel)


if __name__ == "__main__":
    main()
