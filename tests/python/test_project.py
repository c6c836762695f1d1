"""Address, contact and authors stand in one file, and are written where users look for them."""

import re
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import project  # noqa: E402

URL = "https://example.org/some/latecomer"
MAIL = "some@example.org"
AUTHORS = "Lovelace, Ada; some developers"


@pytest.fixture
def clone(tmp_path):
    for path in (*project.files(ROOT), ROOT / "PROJECT"):
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    return tmp_path


def texts(root):
    return {path: path.read_text(encoding="utf-8") for path in project.files(root)}


def test_each_file_is_there():
    assert set(project.files(ROOT).values()) == {name for _, name in project.TEXTS}


def test_files_have_what_the_one_place_says():
    said = project.project(ROOT)
    for path, name in project.files(ROOT).items():
        text = path.read_text(encoding="utf-8")
        assert project.written(text, name, said) == text, name


def test_all_is_written_everywhere_and_removed_again(clone):
    before = texts(clone)
    first = (clone / "PROJECT").read_text()
    lines = {"repository": URL, "contact": MAIL, "authors": AUTHORS}
    (clone / "PROJECT").write_text("".join(f"{name}: {value}\n" for name, value in lines.items()))
    project.main(clone)
    after = {str(path.relative_to(clone)): text for path, text in texts(clone).items()}
    for place, name in project.TEXTS:
        (found,) = [text for path, text in after.items() if Path(path).match(name)]
        sign = {"address": URL, "contact": MAIL, "authors": "some developers"}[place]
        assert sign in found, (place, name)
    assert f'[project.urls]\nRepository = "{URL}"\n' in after["pyproject.toml"]
    assert '\nauthors = [{name = "Ada Lovelace"}, {name = "some developers"}]\n' in after[
        "pyproject.toml"]  # fmt: skip
    assert re.search(f"^repository-code: {URL}$", after["CITATION.cff"], re.MULTILINE)
    assert (
        "\nauthors:\n  - family-names: Lovelace\n    given-names: Ada\n  - name: some developers\n"
        in after["CITATION.cff"]
    )
    assert "\n  - name: Ada Lovelace\n    affiliation: 1\n" in after["paper/paper.md"]
    assert re.search(f"^repo_url: {URL}$", after["mkdocs.yml"], re.MULTILINE)
    (clone / "PROJECT").write_text(first)
    project.main(clone)
    assert texts(clone) == before


@pytest.mark.parametrize(("line", "error"), [
    ("repository: example.org", "repository: 'example.org'; give one as in https://"),
    ("repository: https://a b", "repository: 'https://a b'; give"),
    ("repository: https://a.org/", "repository: 'https://a.org/'; give"),
    ("contact: nobody", "contact: 'nobody'; give one as in latecomer@"),
    ('authors: a "b"', "authors: 'a \"b\"'; give one as in Lovelace, Ada"),
    ("authors: Ada: Lovelace", "authors: 'Ada: Lovelace'; give one as in Lovelace, Ada"),
    ("authors: a; ; b", "authors: 'a; ; b'; give one"),
    ("authors: a;", "authors: 'a;'; give one"),
    ("authors:", "no authors; give some"),
    ("author: a", "'author'; each of repository, contact, authors has one line"),
    ("authors: a\nauthors: b", "'authors'; each of repository"),
])  # fmt: skip
def test_what_cannot_be_used_is_refused(clone, line, error):
    (clone / "PROJECT").write_text(f"# a comment\n\n{line}\n")
    with pytest.raises(ValueError, match=re.escape(f"PROJECT: {error}")):
        project.main(clone)


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github/ISSUE_TEMPLATE").iterdir()), ids=lambda p: p.stem
)
def test_a_form_asks_for_what_names_itself_once(path):
    form = pytest.importorskip("yaml").safe_load(path.read_text(encoding="utf-8"))
    if path.stem == "config":
        assert form == {"blank_issues_enabled": True}
        return
    assert form["name"]
    assert form["description"]
    ids = [each["id"] for each in form["body"]]
    assert len(set(ids)) == len(ids)
    assert all(each["attributes"]["label"] for each in form["body"])


def test_a_file_without_a_place_is_refused():
    with pytest.raises(ValueError, match=r"README.md: 0 places for the address; right would be"):
        project.written("no place", "README.md", {})
