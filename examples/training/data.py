"""Images: CIFAR-10 from the user's files, else generated ones of the same shape."""

from __future__ import annotations

from pathlib import Path

import numpy as np

_RECORD = 1 + 3 * 32 * 32  # bytes: a label, and the pixels by colour
CLASSES = 10


def images(folder: Path | None, count: int = 10_000) -> tuple[np.ndarray, np.ndarray]:
    """Pixels [image, colour, row, column] from -1 to 1 as float32, and labels [image].

    `folder` holds the binary version of CIFAR-10 (data_batch_1.bin and so on). Raises ValueError
    for other files. Without a folder, `count` images are made: a pattern for each class, and noise.
    """
    pixels, labels = _read(folder) if folder else _made(count)
    return (pixels.astype(np.float32) - 127.5) / 127.5, labels.astype(np.int64)


def _read(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    files = sorted(folder.glob("data_batch_*.bin"))
    if not files:
        remedy = "unpack cifar-10-binary.tar.gz and give its folder cifar-10-batches-bin"
        raise ValueError(f"--data: no data_batch_*.bin in {folder}; {remedy}")
    records = np.concatenate([_records(path) for path in files])
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0]


def _records(path: Path) -> np.ndarray:
    found = np.fromfile(path, np.uint8)
    whole = found.size and found.size % _RECORD == 0
    if not whole or found.reshape(-1, _RECORD)[:, 0].max() >= CLASSES:
        raise ValueError(f"--data: {path} is no file of CIFAR-10: records of {_RECORD} bytes")
    return found.reshape(-1, _RECORD)


def _made(count: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(10)
    coarse = draw.integers(0, 256, (CLASSES, 3, 8, 8))
    patterns = coarse.repeat(4, axis=2).repeat(4, axis=3)
    labels = draw.integers(0, CLASSES, count)
    noise = draw.integers(0, 256, (count, 3, 32, 32), dtype=np.uint8)
    return (patterns[labels] // 2 + noise // 2).astype(np.uint8), labels
