"""The example ray tracer: images are right with every algorithm, and options are checked."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from latecomer.base.errors import UserError
from latecomer.core import registry
from latecomer.core.compiled import core
from latecomer.launch import mpi, program
from mpi_helpers import FAMILIES

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "raytracer"
PREFIX = "latecomer_raytracer_"
TINY = ["--size", "48x36", "--frames", "2"]
sys.path.insert(0, str(EXAMPLE))


def trace(family: str, ranks: int, *words: str) -> subprocess.CompletedProcess[str]:
    try:
        found, path = mpi.family(family), program.of_family(family, PREFIX)
    except UserError as error:
        pytest.skip(str(error))
    launch = mpi.launch_command(found, ranks, [str(path), *words], allow_root=True)
    return subprocess.run(
        launch.command, env=launch.env, capture_output=True, text=True, timeout=600, check=False
    )


def filmed(folder: Path, family: str, ranks: int, *words: str) -> list[dict]:
    """The records of each frame and algorithm; pictures go to the folder, too."""
    folder.mkdir()
    files = ["--out", str(folder), "--times", str(folder / "times")]
    done = trace(family, ranks, *TINY, *files, *words)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in (folder / "times").read_text().splitlines()]


def picture(path: Path) -> np.ndarray:
    kind, size, most, data = path.read_bytes().split(b"\n", 3)
    assert (kind, most) == (b"P6", b"255")
    width, height = map(int, size.split())
    return np.frombuffer(data, np.uint8).reshape(height, width, 3).astype(int)


def able() -> list[str]:
    names = [row.name for row in registry.algorithms("reduce")]
    return [name for name in names if core.accepts_operator("reduce", name, False)]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("root", [0, 2])
def test_every_algorithm_composites_the_image_that_one_rank_draws(name, root, tmp_path):
    from film import LIMIT

    words = ["--algorithm", ",".join(able()), "--check", "--root", str(root)]
    frames = filmed(tmp_path / "three", name, 3, *words)
    assert [(f["frame"], f["algorithm"]) for f in frames] == [
        (number, algorithm) for number in range(2) for algorithm in able()
    ]
    for frame in frames:
        assert max(frame["from_first"], frame["from_alone"]) <= LIMIT, frame
        assert len(frame["arrival"]) == len(frame["exit"]) == 3
        assert all(0 < a < e for a, e in zip(frame["arrival"], frame["exit"], strict=True))


def test_pictures_do_not_depend_on_the_number_of_ranks(tmp_path):
    for ranks in (1, 2, 5):
        filmed(tmp_path / str(ranks), "openmpi", ranks, "--algorithm", "binomial")
    for number in range(2):
        alone, *others = (
            picture(tmp_path / str(ranks) / f"frame-{number:03d}.ppm") for ranks in (1, 2, 5)
        )
        assert alone.shape == (36, 48, 3)
        assert len(np.unique(alone.reshape(-1, 3), axis=0)) > 200
        assert [int(abs(other - alone).max()) <= 1 for other in others] == [True, True]
    before, after = (picture(tmp_path / "2" / f"frame-{number:03d}.ppm") for number in range(2))
    assert abs(before - after).max() > 50  # the camera has moved


def test_another_scene_is_another_image(tmp_path):
    for seed in ("1", "2"):
        filmed(tmp_path / seed, "openmpi", 2, "--algorithm", "binomial", "--seed", seed)
    one, other = (picture(tmp_path / seed / "frame-000.ppm") for seed in ("1", "2"))
    assert abs(one - other).max() > 50


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--frames 0", "--frames: '0' is not usable; right would be a whole number from 1"),
        ("--frames 2x", "--frames: '2x' is not usable"),
        ("--frames", "--frames: '' is not usable; right would be a value after it"),
        ("--size 640", "--size: '640' is not usable; right would be WIDTHxHEIGHT, as in 640x480"),
        ("--size 0x4", "--size: '0' is not usable; right would be a whole number from 1 to 16384"),
        ("--size 4x16385", "--size: '16385' is not usable"),
        ("--root 2", "--root: '2' is not usable; right would be a whole number from 0 to 1"),
        ("--seed -1", "--seed: '-1' is not usable"),
        ("--algorithm native,", "--algorithm: 'native,' is not usable; right would be names"),
        ("--algorithm rng", "algorithm: 'rng' is not usable"),
        ("--network fast", "'fast' is not usable"),
        ("--colour red", "option: '--colour' is not usable; right would be one of those that"),
        ("--out /nowhere", "--out: '/nowhere' is not usable; right would be a folder in which"),
        ("--times /nowhere/x", "--times: '/nowhere/x' is not usable; right would be a file that"),
    ],
)
def test_wrong_options_are_errors_on_all_ranks(words, complaint):
    done = trace("openmpi", 2, *TINY, *words.split())
    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stderr.count("latecomer_raytracer: ") == 1


def test_help_names_every_option():
    done = trace("openmpi", 1, "--help")
    assert done.returncode == 0
    for name in ("algorithm", "frames", "size", "root", "seed", "out", "times", "network", "check"):
        assert f"--{name} " in done.stdout


# The comparison of before and after


def compare(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    asked = ["--place", "local", "--nodes", "3", "--mpi", "openmpi", "--out", str(tmp_path)]
    return subprocess.run(
        [sys.executable, str(EXAMPLE / "run.py"), *asked, *words],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


def test_the_comparison_prints_a_table_and_draws_pictures(tmp_path):
    trace("openmpi", 1, "--help")  # skips where it is not built
    done = compare(tmp_path, "--frames", "3", "--size", "48x36", "--check")
    assert done.returncode == 0, done.stderr
    for name in ("3 ranks, local, 2 frames", "native", "binomial", "auto"):
        assert name in done.stdout
    for name in ("image.png", "arrivals.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert len(list(tmp_path.glob("frame-*.ppm"))) == 3


def test_the_comparison_says_what_went_wrong(tmp_path):
    trace("openmpi", 1, "--help")
    done = compare(tmp_path, "--frames", "0")
    assert done.returncode == 1
    assert "the ray tracer ended with exit code: 2" in done.stderr
    assert list(tmp_path.glob("*.png")) == []


def line(algorithm: str, frame: int, leave: float, off: float = 0.0) -> dict:
    return {
        "frame": frame, "algorithm": algorithm, "arrival": [0.1, 0.3], "exit": [0.2, leave],
        "from_first": off, "from_alone": None,
    }  # fmt: skip


def test_numbers_of_the_table():
    from film import Film

    lines = [line("native", f, leave) for f, leave in enumerate((9, 0.5, 0.7, 0.6))]
    lines += [line("binomial", f, 0.4, 1e-7) for f in range(4)]
    film = Film(lines)
    assert (film.counted, film.typical, film.wrong()) == (3, 3, [])  # without the first
    row = film.row("binomial")
    assert row.after_last == pytest.approx(0.1)
    assert row.speedup == pytest.approx(3)
    assert (row.drawing, row.last) == pytest.approx((0.2, 0.3))
    assert (row.inside, row.whole) == pytest.approx((0.1, 0.4))
    assert row.image == "equal to 1e-07"


def test_an_image_that_is_off_is_wrong():
    from film import Film

    film = Film([line("native", 0, 0.5), line("binomial", 0, 0.5, 1e-3)])
    assert film.wrong() == ["binomial"]
    assert film.row("binomial").image == "wrong: off by 0.001"
