"""Links what was built on this machine for the C library of older ones.

Which version of a function a program asks for is decided when it is linked. So the objects of a
finished build are linked again, in place of this machine's C library with that of glibc 2.28, whose
list of functions Zig has for its cross compiler.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

from latecomer.base.errors import UserError

GLIBC = "2.28"
PLATFORM = "manylinux_2_28_x86_64"
# Names that objects made on newer machines use, and glibc 2.28 lacks. libstdc++ then never leaves
# out the atomic operations of programs without threads.
_ADDED = """#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
char __libc_single_threaded = 0;
uint32_t arc4random(void) {
  uint32_t number;
  if (getentropy(&number, sizeof number) != 0) abort();
  return number;
}
"""
# Functions that whoever loads a library has: MPI programs, and Python.
_FROM_OUTSIDE = re.compile(r"_?Py|P?MPIX?_|ompi_|OMPI_|MPIR_")


def run(*command: str | Path, cwd: Path | None = None, **variables: str) -> None:
    """Runs a command with variables added to its environment. UserError: it did not end well."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, cwd=cwd, env={**os.environ, **variables}, check=False)
    except OSError as error:
        raise UserError(
            f"cannot start a program: {error.strerror}", words[0], "install it"
        ) from error
    if done.returncode != 0:
        raise UserError(
            f"a command ended with exit code {done.returncode}", shlex.join(words),
            "what it said is above",
        )  # fmt: skip


def words_for(folder: Path) -> list[str]:
    """Words by which the linker takes the C library of `folder`; nothing for debuggers stays."""
    return [f"-B{folder}/", f"-L{folder}", str(folder / "added.o"), "-s", "-Wl,--gc-sections",
            "-Wl,--allow-shlib-undefined"]  # fmt: skip


def make_library(folder: Path, zig: Path) -> None:
    """Makes the C library to link with in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    cache = folder / "zig"
    program = folder / "nothing.c"
    program.write_text("int main(void) { return 0; }\n")
    run(zig, "cc", "-target", f"x86_64-linux-gnu.{GLIBC}", "-O2", program,
        "-o", folder / "nothing",
        ZIG_GLOBAL_CACHE_DIR=str(cache), ZIG_LOCAL_CACHE_DIR=str(cache))  # fmt: skip
    (libc,) = cache.glob("o/*/libc.so.6")
    (fixed,) = cache.glob("o/*/libc_nonshared.a")
    (start,) = cache.glob("o/*/crt1.o")
    (folder / "Scrt1.o").write_bytes(start.read_bytes())
    source = folder / "added.c"
    source.write_text(_ADDED)
    run("cc", "-O2", "-fPIC", "-fvisibility=hidden", "-ffunction-sections", "-c",
        source, "-o", folder / "added.o")  # fmt: skip
    here = libc.parent
    # Before glibc 2.34 these were libraries of their own; each program gets those that it uses.
    parts = " ".join(str(here / name) for name in ("libpthread.so.0", "libdl.so.2", "libld.so.2"))
    (folder / "libc.so").write_text(f"INPUT({libc} {fixed} AS_NEEDED({parts}))\n")
    for name in ("m.so.6", "dl.so.2", "pthread.so.0", "rt.so.1"):
        short = folder / f"lib{name.partition('.')[0]}.so"
        short.write_text(f"INPUT(AS_NEEDED({here}/lib{name}))\n")


def command_again(said: str, output: Path, words: list[str]) -> list[str]:
    """The build's command for a link, `said`, but to `output` and with `words`.

    Programs look for their MPI library, too, where pip puts one beside the Python packages. The
    libraries to preload are linked with none (decision 31).
    """
    command = shlex.split(said.removeprefix(": && ").strip().removesuffix("&& :"))
    command = [word for word in command if not re.match(r"-Wl,(-rpath|/)", word)]
    command[command.index("-o") + 1] = str(output)
    if ".so" not in output.name:
        command.append("-Wl,-rpath,$ORIGIN/../../../../..")
    return [*command, "-static-libstdc++", *words]


def link_again(build: Path, target: str, output: Path, words: list[str]) -> None:
    """Links a target of the build folder as it was linked, but to `output` and with `words`."""
    said = subprocess.run(
        ["ninja", "-C", build, "-t", "commands", "-s", target],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    output.parent.mkdir(parents=True, exist_ok=True)
    run(*command_again(said, output, words), cwd=build)


def undefined(library: Path) -> list[str]:
    """The functions that no library has which `library` is linked with, and no program either."""
    lines = subprocess.run(
        ["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    names = [line.split()[-1] for line in lines if line.split()[0] == "U"]
    return [name for name in names if "@" not in name and not _FROM_OUTSIDE.match(name)]
