"""The training example: data, numbers of its table, and a small training in the lab."""

import importlib.util
import json
import sys

import numpy as np
import pytest
from scenes_helpers import ROOT

EXAMPLE = ROOT / "examples" / "training"
sys.path.insert(0, str(EXAMPLE))

import data  # noqa: E402
import imbalance  # noqa: E402
from outcome import Results  # noqa: E402

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None or importlib.util.find_spec("mpi4py") is None,
    reason="PyTorch is not installed: .venv/bin/pip install torch==2.13.0",
)


def test_images_are_made_where_there_are_none():
    pixels, labels = data.images(None, 50)
    assert pixels.shape == (50, 3, 32, 32)
    assert (pixels.dtype, labels.dtype) == (np.float32, np.int64)
    assert -1 <= pixels.min() < -0.5 < 0.5 < pixels.max() <= 1
    assert set(labels) <= set(range(10))
    again, _ = data.images(None, 50)
    np.testing.assert_array_equal(pixels, again)


def test_files_of_cifar_10_are_read(tmp_path):
    records = np.random.default_rng(1).integers(0, 256, (4, 3073), dtype=np.uint8)
    records[:, 0] = [3, 1, 9, 0]
    records[:2].tofile(tmp_path / "data_batch_1.bin")
    records[2:].tofile(tmp_path / "data_batch_2.bin")
    pixels, labels = data.images(tmp_path)
    assert labels.tolist() == [3, 1, 9, 0]
    np.testing.assert_allclose(pixels[2, 1, 0, 5] * 127.5 + 127.5, records[2, 1 + 1024 + 5])


@pytest.mark.parametrize("content", [b"", bytes(3072), bytes([10]) + bytes(3072)])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "data_batch_1.bin").write_bytes(content)
    with pytest.raises(ValueError, match=r"data_batch_1.bin is no file of CIFAR-10"):
        data.images(tmp_path)


def test_a_folder_without_files_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no data_batch_"):
        data.images(tmp_path)


def test_delays_are_those_asked_for():
    assert not imbalance.delays("natural", 0.1, 5, 3, [1]).any()
    slow = imbalance.delays("slow", 0.1, 5, 3, [1])
    assert slow[:, 1].tolist() == [0.1] * 5
    assert slow.sum() == pytest.approx(0.5)
    random = imbalance.delays("random", 0.1, 4000, 3, [1])
    assert random.mean() == pytest.approx(0.1, rel=0.05)
    assert (random == imbalance.delays("random", 0.1, 4000, 3, [1])).all()


def line(run, algorithm, elapsed, total, alike=True):
    return {"imbalance": "slow", "run": run, "algorithm": algorithm, "elapsed_s": elapsed,
            "total_s": total, "alike": alike}  # fmt: skip


def test_rows_are_medians_of_all_runs_but_the_first():
    lines = [line(run, name, ms / 1e3, total) for run, (name, ms, total) in [
        (0, ("ring", 99, 99)), (1, ("ring", 20, 4)), (2, ("ring", 30, 6)), (3, ("ring", 40, 5)),
        (0, ("gloo", 99, 50)), (1, ("gloo", 10, 8)), (2, ("gloo", 15, 3)), (3, ("gloo", 20, 10)),
    ]]  # fmt: skip
    lines.append({"imbalance": "slow", "run": 0, "from_gloo": {"ring": 2e-7, "gloo": 0.0}})
    lines.append({"imbalance": "slow", "chosen": {"auto": {"native": 3, "ring:a=1": 2}}})
    results = Results(lines, 50)
    ring, gloo = results.rows("slow")
    assert (ring.elapsed, ring.total, ring.first) == (0.030, 5, 99)
    assert (ring.elapsed_range, ring.total_range) == ((0.02, 0.04), (4, 6))
    assert (gloo.elapsed_speedup, gloo.total_speedup) == (2, 5 / 8)
    assert ring.of_gloo == 0.5  # the median of 4/8, 6/3 and 5/10
    assert np.isnan(ring.of_native)
    assert (ring.difference, gloo.difference) == (2e-7, 0)
    assert results.chosen("slow") == "native 3, ring:a=1 2"
    assert results.wrong() == []


def test_networks_that_differ_are_wrong():
    far = {"imbalance": "slow", "run": 0, "from_gloo": {"auto": 0.01, "ring": float("nan")}}
    results = Results([line(0, "native", 1, 1, alike=False), far], 50)
    assert results.wrong() == ["auto", "native", "ring"]


@needs_torch
def test_the_network_has_as_many_parameters_as_the_papers():
    import network

    assert network.parameters(network.network()) == network.PAPERS_PARAMETERS


@needs_torch
def test_a_small_training(namespaces, tmp_path, capsys):
    import run

    words = ["--nodes", "2", "--iterations", "2", "--runs", "1", "--imbalance", "slow",
             "--algorithms", "gloo,ring,auto", "--out", str(tmp_path), "--deadline", "600"]  # fmt: skip
    assert run.main(words) == 0
    shown = capsys.readouterr()
    assert "145578 parameters" in shown.err
    for name in ("gloo", "ring", "auto", "35.7"):
        assert name in shown.out
    facts = json.loads((tmp_path / "training.json").read_text())
    assert len([each for each in facts["lines"] if each.get("alike")]) == 3
    assert (tmp_path / "training.png").stat().st_size > 10_000


@needs_torch
def test_wrong_words_are_named(tmp_path, capsys):
    import run

    assert run.main(["--imbalance", "frob", "--out", str(tmp_path)]) == 1
    assert "unknown kind of --imbalance: frob; use natural, slow, random" in capsys.readouterr().err
