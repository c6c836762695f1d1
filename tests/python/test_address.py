"""The address of the repository stands in one file, and is written where users look for it."""

import re
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import address  # noqa: E402

URL = "https://example.org/some/latecomer"


@pytest.fixture
def clone(tmp_path):
    for name in (*address.TEXTS, "ADDRESS"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("name", address.TEXTS)
def test_files_have_the_address_of_the_one_place(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert address.with_address(text, name, address.address(ROOT)) == text


def test_an_address_is_written_everywhere_and_removed_again(clone):
    before = {name: (clone / name).read_text() for name in address.TEXTS}
    bare = (clone / "ADDRESS").read_text()
    (clone / "ADDRESS").write_text(f"{bare}{URL}\n")
    address.main(clone)
    for name in address.TEXTS:
        assert URL in (clone / name).read_text(), name
    assert f'[project.urls]\nRepository = "{URL}"\n' in (clone / "pyproject.toml").read_text()
    assert re.search(
        f"^repository-code: {URL}$", (clone / "CITATION.cff").read_text(), re.MULTILINE
    )
    assert re.search(f"^repo_url: {URL}$", (clone / "mkdocs.yml").read_text(), re.MULTILINE)
    (clone / "ADDRESS").write_text(bare)
    address.main(clone)
    if not address.address(ROOT):
        assert {name: (clone / name).read_text() for name in address.TEXTS} == before


@pytest.mark.parametrize(
    "line", ["example.org", "https://a b", "https://a.org/", "https://a\nhttps://b"]
)
def test_what_is_no_address_is_refused(clone, line):
    (clone / "ADDRESS").write_text(f"{line}\n")
    with pytest.raises(ValueError, match="ADDRESS: .*; give one line, as in https://"):
        address.main(clone)


def test_a_file_without_a_place_is_refused():
    with pytest.raises(ValueError, match="README.md: 0 places for the address"):
        address.with_address("no place", "README.md", URL)
