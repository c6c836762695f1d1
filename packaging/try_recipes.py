"""Tries recipes: builds, installs, runs the installed examples, and removes what was installed.

    .venv/bin/python packaging/try_recipes.py [debian12|debian13|spack|easybuild]...

takes the last commit of the clone, and prints a line for each recipe. Those of Debian need root and
mmdebstrap, and work in a bare Debian 12 and 13; in 13 they make the command, too. The others need
Open MPI's mpicc and environment-modules; `spack` takes Spack 1 from PATH or clones it, and
`easybuild` takes `eb` from PATH or from PyPI.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import venv
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "wheel")]
from bare import inside, make_root  # noqa: E402
from latecomer.base.errors import UserError  # noqa: E402
from old_glibc import run  # noqa: E402
from release import version  # noqa: E402

ROOT = HERE.parent
WORK = ROOT / "build" / "recipes"
TOOLS = WORK / "tools"
NAME = f"latecomer-{version()}"
# Packages by which the bare system builds the package and the examples.
PACKAGES = (
    "openmpi-bin,libopenmpi-dev,mpich,libmpich-dev,libslurm-dev,cmake,build-essential,"
    "ninja-build,debhelper,lintian,environment-modules"
)
# More of them, by which it builds and runs the command.
OF_COMMAND = (
    "dh-python,python3-dev,nanobind-dev,python3-jinja2,python3-matplotlib,python3-numpy,"
    "python3-rich,man-db"
)
# A user who is not root runs it.
COMMAND = r"""
man --where latecomer-run
bash -c '. /usr/share/bash-completion/completions/latecomer'
runuser --user nobody -- sh -ec '
export HOME=$(mktemp --directory); cd $HOME
latecomer where
latecomer doctor
for family in openmpi mpich; do
  latecomer run --observe --trace $family -- mpirun.$family -n 2 {build}/late-$family 20 2>&1 |
    sed "s/^/command, $family: /"
  latecomer report $family --html $family.html >/dev/null
  test -s $family.html
done
echo command: ended well'
"""
# A program that calls latecomer, and one that knows nothing of it, with a late rank. Open MPI 5
# takes the variable of PRTE for more ranks than cores.
EXAMPLES = r"""
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
cmake -S {source}/examples/installed -B {build} -DCMAKE_PREFIX_PATH={prefix} \
  -DMPI_C_COMPILER=mpicc.openmpi >{build}.log
cmake --build {build} >>{build}.log
mpirun.openmpi -n 3 {build}/sum
. /usr/share/modules/init/sh
module use {modules}
for family in {families}; do
  mpicc.$family {source}/examples/late/late.c -o {build}/late-$family
  module load latecomer
  echo $family: $(LATECOMER=observe mpirun.$family -n 2 {build}/late-$family 20 2>&1)
  module unload latecomer
  mpirun.$family -n 2 {build}/late-$family 2
done
"""
SPACK = "https://github.com/spack/spack"


def check(said: str, families: str, *more: str) -> None:
    """Raises UserError if the output of the examples, and of what came after, lacks a sign."""
    signs = ["3 ranks, 1 call handled", *more]
    signs += [f"{family}: .*Rank 1 on host" for family in families.split()]
    if missing := [sign for sign in signs if not re.search(sign, said)]:
        raise UserError("an example did not say what it should", missing[0], f"it said: {said}")


def examples(folder: Path, prefix: Path, modules: Path) -> None:
    """Builds and runs them for an installation on this machine. Raises UserError."""
    script = EXAMPLES.format(source=ROOT, build=folder / "examples", prefix=prefix, modules=modules,
                             families="openmpi")  # fmt: skip
    done = subprocess.run(["sh", "-ec", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)  # fmt: skip
    check(done.stdout, "openmpi")


def archive(folder: Path) -> Path:
    """The last commit as an archive in a folder."""
    path = folder / f"{NAME}.tar.gz"
    run("git", "-C", ROOT, "archive", f"--prefix={NAME}/", "-o", path, "HEAD")
    return path


def check_removed(*places: Path) -> None:
    """Raises UserError if one of them is there."""
    if left := [place for place in places if place.exists()]:
        raise UserError("files are left", left[0], "see what the recipe installs")


def try_debian(suite: str, with_command: bool, folder: Path) -> str:
    """All in a bare system: dpkg-buildpackage, lintian, dpkg."""
    run("tar", "-xzf", archive(folder), "-C", folder)
    shutil.copytree(HERE / "debian", folder / NAME / "debian")
    packages = f"{PACKAGES},{OF_COMMAND}" if with_command else PACKAGES
    root = make_root(WORK / f"root-{suite}", suite, packages)
    words = EXAMPLES.format(
        source=f"/opt/given/{NAME}", build="/opt/examples", prefix="/usr/lib/latecomer",
        modules="/usr/share/modules/modulefiles", families="openmpi mpich",
    )  # fmt: skip
    signs = ["lintian: passed", "left: end"]
    profile, names = "nopython", "latecomer"
    if with_command:
        words += COMMAND.format(build="/opt/examples")
        signs += ["(?m)^/usr/lib/latecomer$", "ready: `latecomer bench`", "command: ended well"]
        signs += [f"command, {family}: .*Rank 1 on host" for family in ("openmpi", "mpich")]
        profile, names = "", "latecomer python3-latecomer"
    said = inside(
        root,
        folder,
        f"""
cd /opt/given/{NAME}
export DEB_BUILD_OPTIONS="noautodbgsym parallel={os.cpu_count()}" DEB_BUILD_PROFILES="{profile}"
dpkg-buildpackage -us -uc -b >../build.log 2>&1 || {{ tail -n 20 ../build.log; exit 1; }}
lintian --allow-root --fail-on error,warning ../*.changes && echo lintian: passed
dpkg --install ../*.deb
{words}
dpkg --purge {names}
echo left: $(find / -xdev -iname '*latecomer*' -not -path '/opt/*') end
""",
    )
    check(said, "openmpi mpich", *signs)
    size = sum(package.stat().st_size for package in folder.glob("*.deb")) >> 20
    return f"{names}: built by dpkg-buildpackage, passed lintian, {size} MiB, purged"


def get_spack(folder: Path) -> str:
    """The program, from PATH or else from a clone, with the system's tools."""
    if found := shutil.which("spack"):
        return found
    if not (TOOLS / "spack").exists():
        run("git", "clone", "--quiet", "--depth=1", "--branch=releases/v1.1", SPACK,
            TOOLS / "spack")  # fmt: skip
    spack = str(TOOLS / "spack" / "bin" / "spack")
    os.environ["SPACK_USER_CACHE_PATH"] = str(TOOLS / "spack-cache")
    run(spack, "external", "find", "--path", "/usr", "cmake", "gmake", "gcc")
    # Spack does not find Debian's Open MPI.
    mpicc = shutil.which("mpicc.openmpi") or sys.exit("latecomer: no mpicc.openmpi; install it")
    said = subprocess.run([mpicc, "--showme:version"], capture_output=True, text=True, check=True)
    number = re.search(r"\d+\.\d+\.\d+", said.stdout)[0]
    (folder / "packages.yaml").write_text(f"""packages:
  openmpi:
    externals: [{{spec: openmpi@{number}, prefix: {Path(mpicc).parents[1]}}}]
    buildable: false
""")
    return spack


def try_spack(folder: Path) -> str:
    """Spack, with the packages and compilers that it is configured for, or the system's."""
    spack = [get_spack(folder), "-C", folder]
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


def get_easybuild() -> str:
    """The program `eb`, from PATH or else from PyPI."""
    if found := shutil.which("eb"):
        return found
    bin_ = TOOLS / "easybuild" / "bin"
    if not (bin_ / "eb").exists():
        venv.create(bin_.parent, clear=True, with_pip=True)
        # setuptools: EasyBuild's own style check wants it beside Python 3.12.
        run(bin_ / "python", "-m", "pip", "install", "-q", "easybuild>=5", "pycodestyle",
            "setuptools<82")  # fmt: skip
    os.environ["EB_PYTHON"] = str(bin_ / "python")
    return str(bin_ / "eb")


def try_easybuild(folder: Path) -> str:
    """`eb` with the system's compiler; it has no word for removal, so the folders are removed."""
    # EasyBuild wants the shell function `module`.
    start = '. /usr/share/modules/init/bash; exec "$0" "$@"'
    eb = ["bash", "-c", start, get_easybuild(), "--allow-use-as-root-and-accept-consequences",
          "--modules-tool=EnvironmentModules", "--module-syntax=Tcl"]  # fmt: skip
    recipe = HERE / "easybuild" / f"{NAME}.eb"
    archive(folder)
    run(*eb, "--check-style", recipe)
    run(*eb, f"--prefix={folder}", f"--sourcepath={folder}", recipe)
    prefix = folder / "software" / "latecomer"
    examples(folder, prefix / version(), folder / "modules" / "all")
    for place in (prefix, *folder.glob("modules/*/latecomer")):
        shutil.rmtree(place)
    check_removed(prefix)
    return "style checked and built by eb, its folders removed"


RECIPES = {
    "debian12": partial(try_debian, "bookworm", False),
    "debian13": partial(try_debian, "trixie", True),
    "spack": try_spack,
    "easybuild": try_easybuild,
}


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
