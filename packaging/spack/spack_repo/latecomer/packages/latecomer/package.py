"""The recipe of Spack; docs/install.md says how Spack learns of it."""

from pathlib import Path

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import conflicts, depends_on, license, variant, version  # noqa: A004


class Latecomer(CMakePackage):
    """MPI collectives that are fast when ranks do not arrive together."""

    # The clone that this recipe is part of; there are no releases to download yet.
    git = f"file://{Path(__file__).resolve().parents[6]}"

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("mpi", default=True, description="Build what needs MPI, and the drop-in library")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("python@3.9:", when="+mpi", type="build")  # writes the drop-in library's wrappers
    depends_on("mpi", when="+mpi")
    conflicts("%gcc@:10", msg="latecomer needs C++20")

    def cmake_args(self):
        args = [
            self.define_from_variant("LATECOMER_MPI", "mpi"),
            self.define("LATECOMER_TESTS", False),
            self.define("LATECOMER_PYTHON", False),
            self.define("LATECOMER_SIMGRID", False),
            self.define("LATECOMER_BATCHES", True),
        ]
        if self.spec.satisfies("+mpi"):
            mpi = self.spec["mpi"]
            # Libraries are named after the kind of MPI, as elsewhere.
            family = "openmpi" if mpi.name == "openmpi" else "mpich"
            args.append(self.define("LATECOMER_MPI_FAMILIES", f"{family}={mpi.mpicc}"))
        return args
