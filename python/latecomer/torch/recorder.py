"""PyTorch's flight recorder, switched on: a rank that does not go on says where it is."""

from __future__ import annotations

import atexit
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

from ..base.errors import UserError
from ..base.output import say
from ..base.whole_files import fresh

_LOOK_S = 1.0


def flight_recorder(folder: str | os.PathLike[str], *, after: float = 10.0) -> None:
    """Keep the last 2000 calls of each rank, and write them where a rank does not go on.

    Call it on all ranks before `init_process_group`, as in `flight_recorder("dumps")`. A thread
    looks each second. Of a rank that has begun and ended no collective for `after` seconds,
    FOLDER/HOST/trace_rank_N holds the calls, until it goes on; `latecomer report FOLDER` says which
    ranks have not come to which call. A rank that ends meanwhile leaves its file. NCCL's own dumps,
    at its time limit, go to the same files.

    Raises UserError after init_process_group, and where this PyTorch has no flight recorder.
    """
    if dist.is_initialized():
        raise UserError("flight_recorder", "after init_process_group",
                        "call it before: PyTorch reads then how many calls it keeps")  # fmt: skip
    if not hasattr(c10d, "_dump_fr_trace"):
        raise UserError("flight_recorder", f"none in PyTorch {torch.__version__}",
                        "use a newer one, as 2.13")  # fmt: skip
    place = Path(folder, socket.gethostname())
    place.mkdir(parents=True, exist_ok=True)
    prefix = str(place / "trace_rank_")
    os.environ |= {"TORCH_FR_BUFFER_SIZE": "2000", "TORCH_FR_DUMP_TEMP_FILE": prefix,
                   "TORCH_NCCL_DUMP_ON_TIMEOUT": "1"}  # fmt: skip
    looker = _Looker(prefix, after)
    threading.Thread(target=looker.run, name="latecomer flight", daemon=True).start()
    atexit.register(looker.look)


class _Looker:
    def __init__(self, prefix: str, after: float) -> None:
        self._prefix, self._after = prefix, after
        self._state, self._since = b"", 0.0
        self._file: Path | None = None  # that is there
        self._guard = threading.Lock()
        self._told = False  # that something failed

    def run(self) -> None:
        while True:
            time.sleep(min(_LOOK_S, self._after))
            self.look()

    def look(self) -> None:
        """Write the calls, or remove them, where that is due; a line says if that fails."""
        with self._guard:
            try:
                self._look()
            except Exception as error:  # whichever it is, the next look may succeed
                if not self._told:
                    say(f"the flight recorder, which goes on: {error}")
                self._told = True

    def _look(self) -> None:
        now, state = time.monotonic(), _dump(json=True) if dist.is_initialized() else b""
        if state != self._state:
            self._state, self._since = state, now
            if self._file:
                self._file.unlink(missing_ok=True)
                self._file = None
        elif state and now - self._since >= self._after:
            self._file, self._since = Path(f"{self._prefix}{dist.get_rank()}"), now
            with fresh(self._file) as part:
                part.write_bytes(_dump(json=False))


def _dump(*, json: bool) -> bytes:
    """How far the groups are, or all calls; NCCL has a recorder of its own."""
    kind = "nccl" if "nccl" in str(dist.get_backend_config()) else "fr"
    call: Callable[..., bytes] = getattr(c10d, f"_dump_{kind}_trace{'_json' if json else ''}")
    return call(includeCollectives=not json)
