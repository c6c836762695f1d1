"""Tries recipes: builds, installs, runs the installed examples, and removes what was installed.

    .venv/bin/python packaging/try_recipes.py [debian|spack|easybuild]...

takes the last commit of the clone, and prints a line for each recipe. All need Open MPI's mpicc and
environment-modules. `debian` needs root, mmdebstrap, debhelper and lintian, and installs in a bare
Debian 12; `spack` needs Spack 1 in PATH, and `easybuild` `eb`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "wheel")]
from bare import inside, make_root  # noqa: E402
from latecomer.base.errors import UserError  # noqa: E402
from old_glibc import run  # noqa: E402
from release import version  # noqa: E402

ROOT = HERE.parent
WORK = ROOT / "build" / "recipes"
NAME = f"latecomer-{version()}"
# Packages by which the bare system builds and runs the examples.
PACKAGES = "openmpi-bin,libopenmpi-dev,cmake,g++,make,environment-modules"
# A program that calls latecomer, and one that knows nothing of it, with a late rank.
EXAMPLES = r"""
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
cmake -S {source}/examples/installed -B {build} -DCMAKE_PREFIX_PATH={prefix} \
  -DMPI_C_COMPILER=mpicc.openmpi >{build}.log
cmake --build {build} >>{build}.log
mpirun.openmpi --oversubscribe -n 3 {build}/sum
mpicc.openmpi {source}/examples/late/late.c -o {build}/late
. /usr/share/modules/init/sh
module use {modules}
module load latecomer
LATECOMER=observe mpirun.openmpi --oversubscribe -n 4 {build}/late 20
module unload latecomer
mpirun.openmpi --oversubscribe -n 4 {build}/late 2
"""
SIGNS = ("3 ranks, 1 call handled", "Rank 1 on host")


def check(said: str, *more: str) -> None:
    """Raises UserError if the output of the examples, and of what came after, lacks a sign."""
    if missing := [sign for sign in (*SIGNS, *more) if sign not in said]:
        raise UserError("an example did not say what it should", missing[0], f"it said: {said}")


def examples(folder: Path, prefix: Path, modules: Path) -> None:
    """Builds and runs them for an installation on this machine. Raises UserError."""
    script = EXAMPLES.format(source=ROOT, build=folder / "examples", prefix=prefix, modules=modules)
    done = subprocess.run(["sh", "-ec", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)  # fmt: skip
    check(done.stdout)


def archive(folder: Path) -> Path:
    """The last commit as an archive in a folder."""
    path = folder / f"{NAME}.tar.gz"
    run("git", "-C", ROOT, "archive", f"--prefix={NAME}/", "-o", path, "HEAD")
    return path


def check_removed(*places: Path) -> None:
    """Raises UserError if one of them is there."""
    if left := [place for place in places if place.exists()]:
        raise UserError("files are left", left[0], "see what the recipe installs")


def try_debian(folder: Path) -> str:
    """dpkg-buildpackage, lintian, and dpkg in a bare system."""
    run("tar", "-xzf", archive(folder), "-C", folder)
    source = folder / NAME
    shutil.copytree(HERE / "debian", source / "debian")
    options = f"noautodbgsym parallel={os.cpu_count()}"
    run("dpkg-buildpackage", "-us", "-uc", "-b", cwd=source, DEB_BUILD_OPTIONS=options)
    (changes,) = folder.glob("*.changes")
    run("lintian", "--allow-root", "--fail-on", "error,warning", changes)
    (package,) = folder.glob("*.deb")
    root = make_root(WORK / "root", "bookworm", PACKAGES)
    places = {"prefix": "/usr/lib/latecomer", "modules": "/usr/share/modules/modulefiles"}
    words = EXAMPLES.format(source=f"/opt/given/{NAME}", build="/opt/examples", **places)
    find = "find / -xdev -iname '*latecomer*' -not -path '/opt/*'"
    said = inside(root, folder, f"dpkg --install /opt/given/{package.name}; {words}"
                  f"dpkg --purge latecomer; echo left: $({find}) end")  # fmt: skip
    check(said, "left: end")
    return f"built by dpkg-buildpackage, passed lintian, {package.stat().st_size >> 20} MiB, purged"


def try_spack(folder: Path) -> str:
    """spack, with the packages and compilers that it is configured for."""
    spack = ["spack", "-C", folder]
    (folder / "repos.yaml").write_text(f"repos:\n  latecomer: {HERE}/spack/spack_repo/latecomer\n")
    run(*spack, "audit", "packages", "latecomer")
    run(*spack, "install", "--no-cache", "latecomer", "^openmpi")
    where = [*spack, "location", "--install-dir", "latecomer"]
    found = subprocess.run(where, stdout=subprocess.PIPE, text=True, check=False)
    prefix = Path(found.stdout.strip())
    examples(folder, prefix, prefix / "share" / "modulefiles")
    run(*spack, "uninstall", "--yes-to-all", "latecomer")
    check_removed(prefix)
    return "audited, built and uninstalled by spack"


def try_easybuild(folder: Path) -> str:
    """`eb` with the system's compiler; it has no word for removal, so the folders are removed."""
    recipe = HERE / "easybuild" / f"{NAME}.eb"
    archive(folder)
    run("eb", "--check-style", recipe)
    run("eb", f"--prefix={folder}", f"--sourcepath={folder}", "--modules-tool=EnvironmentModules",
        "--module-syntax=Tcl", "--allow-use-as-root-and-accept-consequences", recipe)  # fmt: skip
    prefix = folder / "software" / "latecomer"
    examples(folder, prefix / version(), folder / "modules" / "all")
    for place in (prefix, *folder.glob("modules/*/latecomer")):
        shutil.rmtree(place)
    check_removed(prefix)
    return "style checked and built by eb, its folders removed"


RECIPES = {"debian": try_debian, "spack": try_spack, "easybuild": try_easybuild}


def try_recipe(name: str) -> str:
    """Try a recipe, and return what was done with it. Raises UserError."""
    if name not in RECIPES:
        raise UserError("cannot try", name, f"name any of {', '.join(RECIPES)}")
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return f"{RECIPES[name](folder)}; its examples ran"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("recipe", nargs="*", help=", ".join(RECIPES))
    good = True
    for name in parser.parse_args().recipe or RECIPES:
        begin = time.monotonic()
        try:
            line = try_recipe(name)
        except UserError as refused:
            good, line = False, f"latecomer: {refused}"
        print(f"{name}: {time.monotonic() - begin:.0f} s: {line}", flush=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
