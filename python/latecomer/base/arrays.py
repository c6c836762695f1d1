"""Arrays of NumPy by what they hold, for annotations; numpy.typing would be slow to load."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Bools = np.ndarray[Any, np.dtype[np.bool_]]
Floats = np.ndarray[Any, np.dtype[np.float64]]
Float32s = np.ndarray[Any, np.dtype[np.float32]]
Int8s = np.ndarray[Any, np.dtype[np.int8]]
Int32s = np.ndarray[Any, np.dtype[np.int32]]
Int64s = np.ndarray[Any, np.dtype[np.int64]]
UInt8s = np.ndarray[Any, np.dtype[np.uint8]]
UInt32s = np.ndarray[Any, np.dtype[np.uint32]]
UInt64s = np.ndarray[Any, np.dtype[np.uint64]]
