"""Bare Debian systems in folders, in which what was packed is tried."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

from old_glibc import run

# A mount and a network of its own, without a way out.
ENTER = r"""
mount --bind "$1" "$1"  # a root that is a mount: the lab's unshare wants one
mount -t proc proc "$1/proc" && mount -t sysfs sysfs "$1/sys" && mount -t tmpfs tmpfs "$1/dev/shm"
mount -t tmpfs tmpfs "$1/tmp" && mount -t tmpfs tmpfs "$1/opt"
mkdir "$1/opt/given" && mount --bind "$2" "$1/opt/given"
ip link set lo up
exec chroot "$1" /usr/bin/env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/root \
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1 \
  sh -ec "$3"
"""


def make_root(root: Path, suite: str, packages: str) -> Path:
    """The folder of a system with packages, which are separated by commas, made where it is not."""
    stamp = root / "packages"
    if not stamp.exists() or stamp.read_text() != packages:
        shutil.rmtree(root, ignore_errors=True)
        root.parent.mkdir(parents=True, exist_ok=True)
        run("mmdebstrap", "--variant=minbase", f"--include={packages}", suite, root)
        (root / "etc/hosts").write_text(f"127.0.0.1 localhost {platform.node()}\n")
        stamp.write_text(packages)
    return root


def inside(root: Path, given: Path, command: str) -> str:
    """The output of a command in a system; `given` is its folder /opt/given."""
    done = subprocess.run(
        ["unshare", "--mount", "--net", "--pid", "--fork", "sh", "-ec", ENTER, "sh",
         root, given, command],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    return done.stdout
