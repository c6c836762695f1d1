"""A release rests on one version, valid metadata and fragments of the changelog."""

import re
import shutil
import subprocess
import sys
from importlib import metadata

import latecomer
import pytest
from packaging_helpers import load
from scenes_helpers import ROOT

release = load("release")


def tool(name):
    """A program of the environment's."""
    found = shutil.which(name, path=str(release.BIN))
    return found or pytest.skip(f"no {name}")


def test_the_version_has_one_place_and_copies():
    version = release.version()
    assert latecomer.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    debian = (ROOT / "packaging/debian/changelog").read_text(encoding="utf-8")
    assert debian.startswith(f"latecomer ({version}) ")
    easybuild = ROOT / f"packaging/easybuild/latecomer-{version}.eb"
    assert f"version = '{version}'" in easybuild.read_text(encoding="utf-8")
    kinds = ["*.md", "*.py", "*.toml", "*.h", "*.cmake", "*.7", "*CMakeLists.txt"]
    tracked = subprocess.run(["git", "ls-files", *kinds],
                             cwd=ROOT, capture_output=True, text=True, check=False)  # fmt: skip
    written = re.compile(rf"latecomer[-=_ ]v?{re.escape(version.rpartition('.')[0])}\b")
    outputs = ("docs/dropin.md", "docs/calibration.md", "evidence/", "changelog.d/", "CHANGELOG.md")
    for name in tracked.stdout.split():
        if name.startswith(outputs):
            continue
        assert not written.search((ROOT / name).read_text(encoding="utf-8")), name


@pytest.mark.parametrize("new", ["1.0", "v1.0.0", "1.0.0rc1", "0.1.0", "0.0.9"])
def test_a_version_that_is_none_or_not_later_is_refused(new):
    with pytest.raises(SystemExit, match=re.escape(new)):
        release.check(new, "0.1.0", "2030-01-02")


def test_a_version_without_a_tag_is_released_as_it_is():
    assert release.check("0.1.0", "0.1.0", "2030-01-02", released=False)
    with pytest.raises(SystemExit, match="give one after"):
        release.check("0.0.9", "0.1.0", "2030-01-02", released=False)
    assert not release.has_tag("9876.5.4")


def test_tools_are_looked_for_before_anything_is_written(monkeypatch, tmp_path):
    monkeypatch.setattr(release, "BIN", tmp_path)
    monkeypatch.setattr(release, "written", None)
    with pytest.raises(SystemExit, match="no towncrier, cffconvert.*; tools/prepare.sh test"):
        release.main("9876.5.4", "2030-01-02")


def test_a_date_that_is_none_is_refused():
    with pytest.raises(SystemExit, match="date 'heute'; give one as in 2026-12-01"):
        release.check("0.2.0", "0.1.0", "heute")


@pytest.mark.parametrize(("new", "old", "may_break"), [
    ("0.1.1", "0.1.0", False), ("0.2.0", "0.1.9", True), ("1.0.0", "0.9.0", True),
    ("1.1.0", "1.0.0", False), ("2.0.0", "1.9.9", True),
])  # fmt: skip
def test_when_the_interface_may_break(new, old, may_break):
    assert release.check(new, old, "2030-01-02") is may_break


def copied(folder):
    """The files that a release writes."""
    for name in ("CMakeLists.txt", "CITATION.cff", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder)
    for name in ("debian", "easybuild"):
        shutil.copytree(ROOT / "packaging" / name, folder / "packaging" / name)


def test_files_are_utf_8_in_any_locale(tmp_path):
    copied(tmp_path)
    code = "import pathlib, sys, release; release.written(pathlib.Path(sys.argv[1]), '7.8.9', '2030-01-02')"
    words = ["-X", "warn_default_encoding", "-W", "error::EncodingWarning", "-c", code, tmp_path]
    ended = subprocess.run([sys.executable, *words], cwd=ROOT / "packaging", capture_output=True,
                           text=True, check=False)  # fmt: skip
    assert ended.returncode == 0, ended.stderr


def test_the_version_is_written(tmp_path):
    copied(tmp_path)
    same = release.version()
    for new, day in ((same, "2029-01-02"), ("7.8.9", "2030-01-02"), ("7.9.0", "2031-01-02")):
        release.written(tmp_path, new, day)
        assert release.version(tmp_path) == new
        text = (tmp_path / "CITATION.cff").read_text(encoding="utf-8")
        assert f"version: {new}\ndate-released: {day}\n" in text
        assert text.count("date-released") == 1
        (easybuild,) = (tmp_path / "packaging/easybuild").iterdir()
        assert easybuild.name == f"latecomer-{new}.eb"
        assert f"version = '{new}'" in easybuild.read_text(encoding="utf-8")
        debian = (tmp_path / "packaging/debian/changelog").read_text(encoding="utf-8")
        assert debian.startswith(f"latecomer ({new}) ")
        assert f"{day[8:]} Jan {day[:4]} 00:00:00 +0000" in debian.splitlines()[4]
        assert f"## {new}, unreleased" not in (tmp_path / "CHANGELOG.md").read_text()
    assert re.findall(r"(?m)^latecomer \((.*)\)", debian) == ["7.9.0", "7.8.9", same]


def test_the_citation_is_valid():
    ended = subprocess.run([tool("cffconvert"), "--validate"], cwd=ROOT, capture_output=True,
                           text=True, check=False)  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_changes_make_a_changelog():
    asked = [tool("towncrier"), "build", "--draft", "--version", "9.9.9"]
    ended = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    kinds = r"\+[a-z0-9-]+\.(added|changed|fixed)\.md|README\.md"
    names = [path.name for path in (ROOT / "changelog.d").iterdir()]
    assert all(re.fullmatch(kinds, name) for name in names), names
    for name in names:
        if name != "README.md":
            assert (ROOT / "changelog.d" / name).read_text().splitlines()[0] in ended.stdout


def test_bounds_of_packages_are_the_same_for_clones_and_wheels():
    toml = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    needed = re.search(r"^dependencies = \[(.*)\]", toml, re.MULTILINE)[1]
    bounds = [*re.findall(r'"(.*?)"', needed), re.search(r'"(nanobind\W.*?)"', toml)[1]]
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert sorted(bounds) == [line for line in lines if not line.startswith("#")]


def test_the_notice_has_the_license_of_nanobind():
    (found,) = [path for path in metadata.files("nanobind") if path.name == "LICENSE"]
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    assert found.read_text().strip() in notice
    assert "Thibaut Goetghebuer-Planchon" in notice


def test_usage_is_told():
    command = [sys.executable, str(ROOT / "packaging" / "release.py")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "release.py VERSION" in ended.stderr
