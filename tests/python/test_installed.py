"""Installed libraries: projects outside the clone use them by CMake, pkg-config and pip."""

import re
import shutil
import subprocess
import sys

import latecomer
import pytest
from install_helpers import (
    BUILD,
    EXAMPLE,
    ROOT,
    archive,
    cmake_project,
    copied_example,
    failure,
    files_below,
    locked_build,
    of_family,
    ranks_of,
    run,
    so_version,
)
from latecomer.launch import mpi
from mpi_helpers import FAMILIES, installed

pytestmark = [
    pytest.mark.skipif(not (BUILD / "lib").is_dir(), reason="no release build"),
    pytest.mark.skipif(not shutil.which("cmake"), reason="no CMake"),
]
VERSION = latecomer.__version__
SOVERSION = so_version(VERSION)
HANDLED = f"latecomer {VERSION}: 3 ranks, 1 call handled"
SIMULATED = f"latecomer {VERSION}: rank 0 leaves after"
THROWS = """
#include <stdexcept>
#include <latecomer/latecomer_mpi.h>
static void refuse(void*, void*, int*, MPI_Datatype*) { throw std::runtime_error("mine"); }
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Op op;
  MPI_Op_create(refuse, 1, &op);
  latecomer_set_algorithm(MPI_COMM_WORLD, "allreduce", "ring");
  double in[3] = {0, 0, 0}, out[3];
  int caught = 0;
  try {
    latecomer_allreduce(in, out, 3, MPI_DOUBLE, op, MPI_COMM_WORLD);
  } catch (const std::runtime_error& error) {
    caught = error.what() == std::string("mine") && std::uncaught_exceptions() == 0;
  }
  int all = 0;
  MPI_Allreduce(&caught, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Abort(MPI_COMM_WORLD, all ? 42 : 1);  // what is printed before it may be lost
}
"""


@pytest.fixture(scope="module")
def moved(tmp_path_factory):
    return archive(tmp_path_factory.mktemp("archive"))


@pytest.fixture(scope="module", params=FAMILIES)
def family(request, moved):
    found = installed(request.param)
    if not (moved / "lib" / f"liblatecomer_{found.name}.a").exists():
        pytest.skip(f"not built for {found.describe()}")
    return found


def declared(*headers):
    text = "".join((ROOT / "include" / "latecomer" / name).read_text() for name in headers)
    return set(re.findall(r"^LATECOMER_API [\w *]*?(latecomer_\w+)\(", text, re.MULTILINE))


def exported(library):
    lines = run("nm", "-D", "--defined-only", library).splitlines()
    return {line.split()[2].partition("@")[0] for line in lines if " A " not in line}


def libraries_of(prefix):
    return [path for path in (prefix / "lib").glob("*.so*") if not path.is_symlink()]


# ---- the archive


def test_an_archive_names_no_folder_of_the_machine_that_made_it(moved):
    folders = (str(ROOT), str(moved), "/usr/lib", "/usr/include", sys.prefix)
    texts = [*moved.glob("lib/cmake/latecomer/*.cmake"), *moved.glob("lib/pkgconfig/*.pc")]
    assert len(texts) > 5
    for path in texts:
        found = [folder for folder in folders if folder in path.read_text()]
        assert not found, path.name
    for library in libraries_of(moved):
        assert re.findall(r"R(?:UN)?PATH.*\[(.*)\]", run("readelf", "-d", library)) == ["$ORIGIN"]


def test_libraries_export_the_functions_of_the_headers_and_no_others(moved):
    core = moved / "lib" / "liblatecomer_core.so"
    assert exported(core) == declared("latecomer.h")
    assert "libstdc++" not in run("readelf", "-d", core)
    for name in FAMILIES:
        library = moved / "lib" / f"liblatecomer_{name}.so"
        if library.exists():
            assert exported(library) == declared("latecomer.h", "latecomer_mpi.h") | {
                "MPI_Finalize"
            }


def test_libraries_are_loaded_by_a_name_with_the_version_of_their_interface(moved):
    name = f"liblatecomer_core.so.{SOVERSION}"
    assert f"[{name}]" in run("readelf", "-d", moved / "lib" / "liblatecomer_core.so")
    assert (moved / "lib" / name).exists()


def test_an_archive_has_licence_and_manual(moved):
    assert "BSD 3-Clause" in (moved / "share/doc/latecomer/LICENSE").read_text()
    assert (moved / "share/man/man1/latecomer-run.1").read_text().startswith(".TH LATECOMER-RUN")
    assert (moved / "share/man/man7/latecomer.7").read_text().startswith(".TH LATECOMER")
    readme = (moved / "share/doc/latecomer/README.md").read_text()
    named = set(re.findall(r"\]\((docs/[\w./-]+)\)", readme))
    assert len(named) > 10
    assert [page for page in named if not (moved / "share/doc/latecomer" / page).exists()] == []


# ---- projects


def test_a_cmake_project(moved, family, tmp_path):
    project, build = copied_example(tmp_path), tmp_path / "build"
    run(*cmake_project(project, build, moved, *of_family(family)))
    run("cmake", "--build", build)
    assert HANDLED in ranks_of(family, build / "sum")
    assert HANDLED in ranks_of(family, build / "sum_static")
    assert SIMULATED in run(build / "plan")
    assert SIMULATED in run(build / "plan_static")
    assert "liblatecomer" not in run("readelf", "-d", build / "plan_static")


ORDER = """cmake_minimum_required(VERSION 3.22)
project(a LANGUAGES C)
{before}
find_package(latecomer {version} REQUIRED COMPONENTS mpi)
{after}
add_executable(sum sum.c)
target_link_libraries(sum PRIVATE latecomer::mpi)
"""
FIND_MPI = "find_package(MPI REQUIRED COMPONENTS C)"


@pytest.mark.parametrize(("before", "after"), [("", ""), ("", FIND_MPI), (FIND_MPI, "")])
def test_mpi_is_found_in_any_order(moved, family, tmp_path, before, after):
    (tmp_path / "CMakeLists.txt").write_text(
        ORDER.format(before=before, after=after, version=VERSION)
    )
    shutil.copy(ROOT / "examples" / "installed" / "sum.c", tmp_path)
    run(*cmake_project(tmp_path, tmp_path / "build", moved, *of_family(family)))
    run("cmake", "--build", tmp_path / "build")
    assert HANDLED in ranks_of(family, tmp_path / "build" / "sum")


def words(moved, *options):
    env = {"PKG_CONFIG_PATH": str(moved / "lib" / "pkgconfig")}
    return run("pkg-config", *options, env=env)


@pytest.fixture(scope="module")
def plain(moved, tmp_path_factory):
    """The archive in a folder without a space, which shells split in the words of pkg-config."""
    link = tmp_path_factory.mktemp("plain") / "latecomer"
    link.symlink_to(moved)
    return link


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="no pkg-config")
def test_a_project_with_pkg_config(plain, family, tmp_path):
    package, program = f"latecomer-{family.name}", tmp_path / "sum"
    flags = words(plain, "--cflags", "--libs", package).split()
    folder = words(plain, "--variable=libdir", package).strip()
    run(family.mpicc, EXAMPLE / "sum.c", *flags, f"-Wl,-rpath,{folder}", "-o", program)
    assert HANDLED in ranks_of(family, program)
    static = words(plain, "--variable=static_libs", package).split()
    flags = words(plain, "--cflags", package).split()
    run(family.mpicc, EXAMPLE / "sum.c", *flags, *static, "-o", program)
    assert HANDLED in ranks_of(family, program)
    assert "liblatecomer" not in run("readelf", "-d", program)


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="no pkg-config")
def test_a_project_with_pkg_config_and_no_mpi(plain, tmp_path):
    flags = words(plain, "--cflags", "--libs", "latecomer-core").split()
    run("cc", EXAMPLE / "plan.c", *flags, f"-Wl,-rpath,{plain}/lib", "-o", tmp_path / "plan")
    assert SIMULATED in run(tmp_path / "plan")
    assert words(plain, "--modversion", "latecomer-core").strip() == VERSION


def test_exceptions_of_an_operator_pass_through_a_shared_library(plain, family, tmp_path):
    compiler = str(family.mpicc).replace("mpicc", "mpicxx")
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    (tmp_path / "throws.cpp").write_text("#include <exception>\n#include <string>\n" + THROWS)
    program = tmp_path / "throws"
    run(compiler, tmp_path / "throws.cpp", f"-I{plain}/include", f"-L{plain}/lib",
        f"-llatecomer_{family.name}", f"-Wl,-rpath,{plain}/lib", "-o", program)  # fmt: skip

    started = mpi.launch_command(family, 2, [str(program)], allow_root=True)
    done = subprocess.run(
        started.command, env=started.env, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 42, done.stdout + done.stderr


# ---- refusals


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("find_package(latecomer REQUIRED COMPONENTS cray)", "right would be some of core;"),
        ("set(CMAKE_DISABLE_FIND_PACKAGE_MPI TRUE)\nfind_package(latecomer REQUIRED COMPONENTS mpi)",
         "MPI could not be found"),
        ("set(CMAKE_C_COMPILER_LOADED FALSE)\nfind_package(latecomer REQUIRED COMPONENTS mpi)",
         "or mpi in a project in C whose MPI CMake finds"),
        ("find_package(latecomer 9.9 REQUIRED)", f"version: {VERSION}"),
        # Before 1.0 each minor version may change the interface.
        ("find_package(latecomer 0.0.1 REQUIRED)", f"version: {VERSION}"),
        ("set(MPI_C_INCLUDE_DIRS ${{CMAKE_CURRENT_SOURCE_DIR}})\n"
         "find_package(latecomer REQUIRED COMPONENTS {family})",
         "'{family}' does not fit the MPI that find_package(MPI) found, of kind 'mpi'"),
        ("find_package(latecomer REQUIRED COMPONENTS core {family})\nadd_executable(a a.c)\n"
         "target_link_libraries(a latecomer::core latecomer::{family})", "LATECOMER_LIBRARY"),
    ],
)  # fmt: skip
def test_a_project_that_asks_for_the_wrong_library_is_refused(moved, tmp_path, lines, message):
    known = [name for name in FAMILIES if (moved / f"lib/liblatecomer_{name}.a").exists()]
    if not known and "{family}" in lines:
        pytest.skip("built without MPI")
    name = known[0] if known else ""
    head = "cmake_minimum_required(VERSION 3.22)\nproject(a LANGUAGES C)\n"
    (tmp_path / "CMakeLists.txt").write_text(head + lines.format(family=name))
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    (tmp_path / "mpi.h").write_text("/* of neither family */\n")
    said = failure(*cmake_project(tmp_path, tmp_path / "build", moved))
    assert message.format(family=name) in said


def test_wrong_places_are_refused(tmp_path):
    script = ROOT / "cmake" / "uninstall.cmake"
    said = failure("cmake", f"-DMANIFEST={tmp_path}/no", "-P", script)
    assert "MANIFEST: '" in said
    assert "right would be the file installed.txt" in said
    staged = tmp_path / "staged"
    staged.write_text(f"{tmp_path}/_CPack_Packages/Linux/TGZ/a/lib/x.so\n")
    said = failure("cmake", f"-DMANIFEST={staged}", "-P", script)
    assert "lists the files of an archive that cpack made" in said
    said = failure("cmake", "-S", ROOT / "packaging/wheel", "-B", tmp_path / "b")
    assert "LATECOMER_BUILD: '' is not usable; right would be the absolute path" in said
    said = failure(sys.executable, "-m", "latecomer", "where")
    assert "no libraries are installed here" in said


# ---- odd folders


def configured(build, *options):
    without = [f"-DLATECOMER_{part}=OFF" for part in ("MPI", "PYTHON", "SIMGRID", "TESTS")]
    return ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", *without, *options]


@pytest.mark.skipif(not shutil.which("ninja"), reason="no Ninja")
def test_folders_have_any_name(tmp_path):
    """The programs that the build calls get their names whole."""
    build = tmp_path / "a (b)'s & $c"
    run(*configured(build))
    run("cmake", "--build", build, "--target", "rows.cpp")
    assert "row_ring" in (build / "rows.cpp").read_text()
    (build / "installed.txt").write_text(f"prefix {tmp_path}\n{build}/rows.cpp\n")
    assert "1 files removed" in run("cmake", "--build", build, "--target", "uninstall")


def test_a_folder_of_libraries_outside_the_prefix_is_refused(tmp_path):
    said = failure(*configured(tmp_path / "build", f"-DCMAKE_INSTALL_LIBDIR={tmp_path}/lib"))
    assert f"CMAKE_INSTALL_LIBDIR: '{tmp_path}/lib' is not usable; right would be" in said


# ---- removal


def test_uninstalling_leaves_nothing_and_spares_what_is_not_ours(tmp_path):
    prefix, manifest = tmp_path / "prefix", tmp_path / "manifest"
    (prefix / "lib").mkdir(parents=True)
    (prefix / "lib" / "other.so").touch()
    with locked_build():
        run("cmake", "--install", BUILD, "--prefix", prefix)
        run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", tmp_path / "packed")
        shutil.copy(BUILD / "installed.txt", manifest)
    shutil.rmtree(tmp_path / "packed")
    assert f"lib/liblatecomer_core.so.{SOVERSION}" in files_below(prefix)
    run("cmake", f"-DMANIFEST={manifest}", "-P", ROOT / "cmake" / "uninstall.cmake")
    assert files_below(prefix) == {"lib", "lib/other.so"}


def test_uninstalling_ends_at_the_prefix(tmp_path):
    prefix, outside = tmp_path / "of öthers" / "a[b]", tmp_path / "man" / "latecomer.7"
    files = [prefix / "share/doc/LICENSE", prefix / "share/LICENSE", prefix / "a", outside]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    manifest = tmp_path / "manifest"
    manifest.write_text("\n".join(map(str, files)) + "\n")
    script = ["-P", ROOT / "cmake" / "uninstall.cmake"]
    assert "names no prefix" in failure("cmake", f"-DMANIFEST={manifest}", *script)
    manifest.write_text(f"prefix {prefix}\n{manifest.read_text()}")
    assert "4 files removed" in run("cmake", f"-DMANIFEST={manifest}", *script)
    assert files_below(tmp_path) == {"of öthers", "of öthers/a[b]", "man", "manifest"}
    assert "0 files removed" in run("cmake", f"-DMANIFEST={manifest}", *script)


def test_what_was_installed_into_a_staging_folder_is_listed_there(tmp_path):
    files = ["/opt/x/lib/a.so", "/opt/x/bin/b"]
    asked = ["-DCMAKE_INSTALL_PREFIX=/opt/x", f"-DCMAKE_INSTALL_MANIFEST_FILES={';'.join(files)}",
             f"-Dlist={tmp_path}/list", "-P", ROOT / "cmake" / "list_installed.cmake"]  # fmt: skip
    for staging in ("", "/stage"):
        run("cmake", *asked, env={"DESTDIR": staging})
        lines = (tmp_path / "list").read_text().splitlines()
        assert lines == [f"prefix {staging}/opt/x", *(f"{staging}{file}" for file in files)]
    asked[0] = "-DCMAKE_INSTALL_PREFIX=x"
    run("cmake", *asked, env={"DESTDIR": ""}, cwd=tmp_path)
    assert (tmp_path / "list").read_text().startswith(f"prefix {tmp_path}/x\n")


# ---- pip


def test_a_project_with_the_python_package(tmp_path):
    """As `pip install .`, but of the release build, which takes seconds."""
    pytest.importorskip("scikit_build_core")
    run(sys.executable, "-m", "pip", "wheel", ROOT, "--no-build-isolation", "--no-deps", "-q",
        "-w", tmp_path, "-C", f"cmake.source-dir={ROOT}/packaging/wheel",
        "-C", f"cmake.define.LATECOMER_BUILD={BUILD}", "-C", f"build-dir={tmp_path}/wheel",
        cwd=tmp_path)  # fmt: skip
    (wheel,) = tmp_path.glob(f"latecomer-{VERSION}-*.whl")
    # A Python of its own, with the packages that latecomer needs from this one.
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    (packages,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    needed = next(path for path in map(str, sys.path) if path.endswith("site-packages"))
    (packages / "needed.pth").write_text(needed)
    before = files_below(tmp_path / "venv")
    pip = [tmp_path / "venv/bin/python", "-m", "pip", "-q", "--disable-pip-version-check"]
    command, clean = tmp_path / "venv" / "bin" / "latecomer", {"PYTHONPATH": ""}
    run(*pip, "install", "--no-deps", "--no-compile", wheel, env=clean)

    assert run(command, "--version", env=clean) == f"latecomer {VERSION}\n"
    pages = files_below(tmp_path / "venv" / "share" / "man")
    assert {"man1/latecomer-run.1", "man7/latecomer.7"} <= pages
    assert not (packages / "latecomer" / "share" / "man").exists()
    (notice,) = packages.glob("latecomer-*.dist-info/licenses/NOTICE")
    assert "nanobind" in notice.read_text()
    prefix = run(command, "where", env=clean).strip()
    assert prefix == str(packages / "latecomer")
    assert "online_owners" in run(command, "algorithms", "--json", env=clean)
    found = _family_of_package(packages)
    options = of_family(found) if found else ["-DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON"]
    run(*cmake_project(copied_example(tmp_path), tmp_path / "build", prefix, *options))
    run("cmake", "--build", tmp_path / "build")
    assert SIMULATED in run(tmp_path / "build" / "plan")
    if found:
        assert HANDLED in ranks_of(found, tmp_path / "build" / "sum")
        linked = tmp_path / "linked"
        run(found.mpicc, EXAMPLE / "sum.c", f"-I{prefix}/include", f"-L{prefix}/lib",
            f"-llatecomer_{found.name}", f"-Wl,-rpath,{prefix}/lib", "-o", linked)  # fmt: skip
        assert HANDLED in ranks_of(found, linked)
        _run_drop_in(command, found, tmp_path)

    run(*pip, "uninstall", "-y", "latecomer", env=clean)
    assert {path for path in files_below(tmp_path / "venv") - before if "__pycache__" not in path} \
        <= {"share", "share/man"}  # fmt: skip


def _family_of_package(packages):
    libraries = {path.name for path in (packages / "latecomer" / "lib").glob("*.a")}
    known = [each for each in mpi.families() if each.mpicc]
    return next((each for each in known if f"liblatecomer_{each.name}.a" in libraries), None)


def _run_drop_in(command, found, folder):
    """`latecomer run` of the package finds its library."""
    (folder / "plain.c").write_text(
        "#include <mpi.h>\nint main(int c, char** v) {\n  double a = 1, b = 0;\n"
        "  MPI_Init(&c, &v);\n"
        "  MPI_Allreduce(&a, &b, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);\n"
        "  return MPI_Finalize() + (b != 3);\n}\n"
    )
    run(found.mpicc, folder / "plain.c", "-o", folder / "plain")
    started = mpi.launch_command(found, 3, [str(folder / "plain")], allow_root=True)
    report = folder / "report.txt"
    run(command, "run", "--report", report, "--", *started.command,
        env={**started.env, "PYTHONPATH": ""})  # fmt: skip
    assert report.read_text()


def test_no_library_names_the_folder_where_it_was_built():
    # A wheel has the same check sum wherever it is built.
    libraries = [*BUILD.glob("lib*.so"), *(BUILD / "lib").glob("lib*.so.*")]
    assert libraries
    naming = [path.name for path in libraries if str(ROOT).encode() in path.read_bytes()]
    assert naming == []


# ---- recipes


def test_options_of_the_spack_recipe_are_options_of_cmake():
    recipe = (
        ROOT / "packaging/spack/spack_repo/latecomer/packages/latecomer/package.py"
    ).read_text()
    options = (ROOT / "CMakeLists.txt").read_text() + (
        ROOT / "cmake/mpi_families.cmake"
    ).read_text()
    used = set(re.findall(r'"(LATECOMER_\w+)"', recipe))
    assert "LATECOMER_MPI_FAMILIES" in used
    for name in used:
        assert re.search(rf"(option|set)\({name} ", options), name
    compile(recipe, "package.py", "exec")


def test_a_recipe_that_is_not_there_is_refused():
    said = failure(sys.executable, ROOT / "packaging/try_recipes.py", "nix")
    assert "latecomer: cannot try: nix; name any of debian12, debian13, spack, easybuild" in said
