"""The check of sizes accepts this tree, and rejects one with a breach of each kind."""

from checks_helpers import ROOT, checked


def test_this_tree_keeps_its_sizes():
    result = checked("sizes", ROOT)
    assert (result.returncode, result.stdout) == (0, "sizes: ok\n")


def test_each_breach_is_found(tmp_path):
    files = {
        "src/a/long.cpp": "int f();\n" * 401,
        "src/a/slice.hpp": "namespace latecomer {\nint f();\n}\n",
        "src/a/interface.hpp": "namespace latecomer {\nstruct I { virtual void f() = 0; };\n}\n",
        "src/a/wrapper.hpp": "#include <mpi.h>\n",
        "src/a/functions.txt": "a\n" * 500,
        "python/bindings.cpp": "int f();\n" * 402,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    result = checked("sizes", tmp_path)
    assert result.returncode == 1
    assert result.stdout.splitlines() == [
        "src/a/long.cpp: 401 lines; right would be at most 400",
        "src/a/slice.hpp: a header of 3 lines; right would be a part of a larger one",
        "python/bindings.cpp: 402 lines; right would be at most 400",
    ]


def test_too_many_files_are_found(tmp_path):
    (tmp_path / "src").mkdir()
    for number in range(700):
        (tmp_path / "src" / f"f{number}.cpp").write_text("int f();\n")
    result = checked("sizes", tmp_path)
    assert result.returncode == 1
    assert result.stdout.startswith("src: 700 files; right would be at most ")
