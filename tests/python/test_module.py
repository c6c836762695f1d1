"""Parts that a site installs beside the libraries: the module file, and Slurm's plug-in."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from dropin_helpers import PATIENT, cases_of, launcher_of, run_command
from install_helpers import BUILD, ROOT
from mpi_helpers import FAMILIES

MADE = BUILD / "module"
HEADER = Path("/usr/include/slurm/spank.h")


@pytest.fixture
def prefix(tmp_path):
    """An installation, whose libraries are those of the build."""
    if not (MADE / "latecomer").exists():
        pytest.skip("built without a drop-in library")
    return _installed(tmp_path / "prefix")


def _installed(prefix):
    for folder in ("share/modulefiles/latecomer", "share/latecomer", "libexec/latecomer"):
        (prefix / folder).mkdir(parents=True)
    (prefix / "lib").symlink_to(BUILD)
    shutil.copy(MADE / "latecomer", prefix / "share/modulefiles/latecomer/0.1.0")
    shutil.copy(ROOT / "packaging/module/hydra.conf", prefix / "share/latecomer")
    shutil.copy(MADE / "preload", prefix / "libexec/latecomer")
    return prefix


def after(prefix, words, env):
    """The environment of a shell after `module` was called, and what it said."""
    if not shutil.which("modulecmd"):
        pytest.skip("no modulecmd (apt-get install environment-modules)")
    lines = [f'eval "$(modulecmd sh {each})"' for each in words]
    done = subprocess.run(
        ["sh", "-c", "\n".join([*lines, "env -0"])], text=True, capture_output=True, check=True,
        env={**env, "MODULEPATH": str(prefix / "share/modulefiles")},
    )  # fmt: skip
    return dict(entry.split("=", 1) for entry in done.stdout.split("\0") if entry), done.stderr


@pytest.mark.parametrize("name", FAMILIES)
def test_ranks_have_the_library_while_the_module_is_loaded(name, prefix):
    started = launcher_of(name, 2, [cases_of(name), "reductions"])
    env = {**os.environ, **started.env, "LATECOMER": "observe"}
    loaded, _ = after(prefix, ["load latecomer"], env)
    assert "LD_PRELOAD" not in loaded
    assert "latecomer: Of " in run_command(started.command, loaded).check().err
    off = run_command(started.command, {**loaded, "LATECOMER": "off"}).check()
    assert "latecomer" not in off.err
    unloaded, _ = after(prefix, ["load latecomer", "unload latecomer"], env)
    assert not [entry for entry in unloaded.items() if str(prefix) in entry[1]
                and "MODULE" not in entry[0]]  # fmt: skip
    assert "latecomer" not in run_command(started.command, unloaded).check().err


@pytest.mark.parametrize(("before", "after_it"), [({}, ""), ({"MANPATH": "/a"}, "/a:")])
def test_manual_pages_are_found_beside_those_of_the_system(prefix, before, after_it):
    env = {name: value for name, value in os.environ.items() if name != "MANPATH"} | before
    loaded, _ = after(prefix, ["load latecomer"], env)
    assert loaded["MANPATH"] == f"{prefix}/share/man:{after_it}"
    unloaded, _ = after(prefix, ["load latecomer", "unload latecomer"], env)
    assert unloaded.get("MANPATH", "").strip(":") == before.get("MANPATH", "")


def test_open_mpi_still_takes_variables_for_its_ranks(prefix):
    started = launcher_of("openmpi", 1, [cases_of("openmpi"), "reductions"])
    loaded, _ = after(prefix, ["load latecomer"], {**os.environ, **started.env})
    words = [started.command[0], "-x", "SOME=1", *started.command[1:]]
    run_command(words, loaded).check()


def test_latecomer_run_has_no_library_of_the_module(prefix):
    started = launcher_of("openmpi", 2, [cases_of("openmpi"), "reductions"])
    env = {**os.environ, **started.env, **PATIENT, "LATECOMER": "observe"}
    loaded, _ = after(prefix, ["load latecomer"], env)
    words = [str(ROOT / "latecomer"), "run", "--off", "--", *started.command]
    assert "latecomer: Of" not in run_command(words, loaded).check().err


@pytest.mark.parametrize("name", ["LD_PRELOAD", "HYDRA_CONFIG_FILE", "SLURM_EXPORT_ENV"])
def test_a_variable_that_is_set_already_is_kept(prefix, name):
    value = "libm.so.6"
    loaded, said = after(prefix, ["load latecomer"], {**os.environ, name: value})
    assert f"latecomer: {name} is '{value}' already; right would be to unset it" in said
    assert loaded[name] == value
    assert "I_MPI_GTOOL" not in loaded


def test_a_folder_with_a_blank_is_refused(tmp_path, prefix):
    odd = _installed(tmp_path / "a b")
    loaded, said = after(odd, ["load latecomer"], dict(os.environ))
    assert f"latecomer: '{odd}' is not usable; right would be a folder whose name has no" in said
    assert "I_MPI_GTOOL" not in loaded


def test_a_linked_module_file_finds_its_installation(tmp_path, prefix):
    (tmp_path / "site/share/modulefiles/latecomer").mkdir(parents=True)
    link = tmp_path / "site/share/modulefiles/latecomer/0.1.0"
    link.symlink_to(os.path.relpath(prefix / "share/modulefiles/latecomer/0.1.0", link.parent))
    loaded, _ = after(tmp_path / "site", ["load latecomer"], dict(os.environ))
    assert loaded["I_MPI_GTOOL"] == f"{prefix}/libexec/latecomer/preload:all"


def test_preload_joins_what_is_preloaded_and_finds_programs_as_launchers_do(prefix, tmp_path):
    preload, library = prefix / "libexec/latecomer/preload", f"{prefix}/lib/liblatecomer_preload.so"
    (tmp_path / "app").write_text('#!/bin/sh\necho "$LD_PRELOAD" "$@"\n')
    (tmp_path / "app").chmod(0o755)

    def said(before, *words):
        return subprocess.run(
            [preload, *words], cwd=tmp_path, text=True, capture_output=True, check=False,
            env={"PATH": os.environ["PATH"], **({"LD_PRELOAD": before} if before else {})},
        )  # fmt: skip

    assert said("", "app", "a b").stdout == f"{library} a b\n"
    assert said("libm.so.6", "./app").stdout == f"{library}:libm.so.6\n"
    messages = f"{BUILD}/liblatecomer_preload_messages.so"
    assert said(messages, "app").stdout == f"{messages}\n"
    assert said("", "no_such_program").returncode == 127
    refused = said("")
    assert refused.returncode == 2
    assert "latecomer: no command given; right would be" in refused.stderr


@pytest.mark.parametrize("name", ["a b", "a:b", "ab"])
def test_preload_in_a_folder_that_the_dynamic_linker_would_split_is_refused(tmp_path, name):
    preload = tmp_path / name / "preload"
    preload.parent.mkdir()
    text = (ROOT / "packaging/module/preload.in").read_text()
    preload.write_text(text.replace("@up@", "."))
    preload.chmod(0o755)
    done = subprocess.run([preload, "true"], text=True, capture_output=True, check=False)
    if name == "ab":
        assert done.returncode == 0
    else:
        assert done.returncode == 2
        assert f"'{preload.parent}' is not usable; right would be a folder whose" in done.stderr


# ---- Slurm's plug-in, with stand-ins for Slurm's functions

STAND_INS = """
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "PLUGIN"
static struct spank_option taken;
void slurm_error(const char* format, ...) {
  va_list rest;
  va_start(rest, format);
  vprintf(format, rest);
  puts("");
}
spank_err_t spank_option_register(spank_t spank, struct spank_option* option) {
  taken = *option;
  return ESPANK_SUCCESS;
}
static uint32_t step;
static const char* given[2]; /* LATECOMER and LD_PRELOAD */
static int place(const char* name) { return strcmp(name, "LATECOMER") != 0; }
spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...) {
  va_list rest;
  va_start(rest, item);
  *va_arg(rest, uint32_t*) = step;
  return ESPANK_SUCCESS;
}
spank_err_t spank_getenv(spank_t spank, const char* name, char* value, int size) {
  if (!given[place(name)]) return ESPANK_ENV_NOEXIST;
  return snprintf(value, size, "%s", given[place(name)]) < size ? ESPANK_SUCCESS : ESPANK_NOSPACE;
}
spank_err_t spank_setenv(spank_t spank, const char* name, const char* value, int overwrite) {
  const char* slash = strrchr(value, '/');
  printf("%s=%s\\n", name, slash ? slash + 1 : value);
  return ESPANK_SUCCESS;
}
/* SITE OPTION LATECOMER LD_PRELOAD STEP; "-" is none */
int main(int argc, char** argv) {
  step = strtoul(argv[5], NULL, 10);
  for (int i = 0; i < 2; ++i) given[i] = strcmp(argv[3 + i], "-") ? argv[3 + i] : NULL;
  if (slurm_spank_init(NULL, strcmp(argv[1], "-") != 0, argv + 1) != 0) return 3;
  if (strcmp(argv[2], "-") && taken.cb(0, argv[2], 0) != 0) return 4;
  return slurm_spank_user_init(NULL, 0, NULL);
}
"""
ON = "LD_PRELOAD=liblatecomer_preload.so\nLATECOMER={}\n"
OFTEN = "latecomer: LATECOMER: 'often' is not usable; right would be on, observe or off\n"
LONG = "x" * 5000


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    if not HEADER.exists():
        pytest.skip("no headers of Slurm (apt-get install libslurm-dev)")
    folder = tmp_path_factory.mktemp("plugin")
    text = STAND_INS.replace("PLUGIN", str(ROOT / "src/slurm/plugin.c"))
    (folder / "a.c").write_text("#define _GNU_SOURCE\n#include <stdlib.h>\n" + text)
    subprocess.run(["cc", "-Wno-unused", folder / "a.c", "-ldl", "-o", folder / "a"], check=True)
    return folder / "a"


@pytest.mark.parametrize(
    ("site", "option", "variable", "preloaded", "step", "result"),
    [
        ("-", "-", "-", "-", 0, ""),
        ("-", "", "-", "-", 0, ON.format("on")),
        ("-", "auto", "observe", "-", 0, ON.format("on")),
        ("-", "observe", "off", "-", 0, ON.format("observe")),
        ("-", "off", "observe", "-", 0, "LATECOMER=off\n"),
        ("-", "-", "observe", "-", 0, ON.format("observe")),
        ("-", "-", "on", "-", 0, ON.format("on")),
        ("-", "-", "off", "-", 0, "LATECOMER=off\n"),
        ("-", "-", "auto", "-", 0, ON.format("on")),
        ("-", "-", "often", "-", 0, OFTEN),
        ("default=observe", "-", "often", "-", 0, OFTEN + ON.format("observe")),
        ("default=observe", "-", "-", "-", 0, ON.format("observe")),
        ("default=observe", "-", "off", "-", 0, "LATECOMER=off\n"),
        ("default=off", "auto", "-", "-", 0, ON.format("on")),
        ("-", "observe", "-", "libm.so.6", 0,
         "LD_PRELOAD=liblatecomer_preload.so:libm.so.6\nLATECOMER=observe\n"),
        ("-", "observe", "-", "liblatecomer_preload_messages.so", 0, "LATECOMER=observe\n"),
        ("-", "observe", "-", LONG, 0, "latecomer: this step runs without it: its environment "
         "cannot be set\n"),
        ("-", "observe", "-", "-", 0xFFFFFFFB, ""),  # a batch script
    ],
)  # fmt: skip
def test_the_first_choice_decides(plugin, site, option, variable, preloaded, step, result):
    words = [plugin, site, option, variable, preloaded, str(step)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == result


@pytest.mark.parametrize(
    ("site", "option", "message", "rest"),
    [
        ("-", "often", "--latecomer: 'often' is not usable; right would be observe, auto or off; "
         "the job runs without it", "LATECOMER=off\n"),
        ("-", "Observe", "'Observe' is not usable", "LATECOMER=off\n"),
        ("default=observe", "on", "'on' is not usable", "LATECOMER=off\n"),
        ("default=on", "-", "plugstack.conf: 'default=on' is not usable; right would be default=", ""),
        ("observe", "-", "plugstack.conf: 'observe' is not usable", ""),
        ("default=", "observe", "plugstack.conf: 'default=' is not usable", ON.format("observe")),
    ],
)  # fmt: skip
def test_other_values_are_named_and_the_job_goes_on(plugin, site, option, message, rest):
    done = subprocess.run([plugin, site, option, "-", "-", "0"], capture_output=True, text=True,
                          check=True)  # fmt: skip
    line, _, after = done.stdout.partition("\n")
    assert message in line
    assert after == rest
