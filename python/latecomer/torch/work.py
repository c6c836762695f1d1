"""A message that was posted, as PyTorch waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch.distributed as dist
from mpi4py import MPI
from torch.futures import Future


class Message(dist.Work):
    """A send or receive under way."""

    def __init__(self, request: MPI.Request, result: list[Any], ended: Callable[[], None]) -> None:
        """`ended` runs once, when the message is complete; `result` keeps the tensor alive."""
        super().__init__()
        self._request, self._result, self._ended = request, result, ended
        self._status = MPI.Status()
        self._guard = threading.Lock()
        self._done = False

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:  # noqa: ARG002 - MPI has none
        """Wait until the message is complete."""
        with self._guard:
            if not self._done:
                self._request.Wait(self._status)
                self._finish()
        return True

    def is_completed(self) -> bool:
        """Is the message complete?"""
        with self._guard:
            if not self._done and self._request.Test(self._status):
                self._finish()
        return self._done

    def is_success(self) -> bool:
        """Is it complete? An error would have been raised."""
        return self.is_completed()

    def get_future(self) -> Future:
        """A future that gets the tensors; a thread waits for it."""
        future: Future = Future()

        def finish() -> None:
            self.wait()
            future.set_result(self._result)

        threading.Thread(target=finish, daemon=True).start()
        return future

    def result(self) -> list[Any]:
        """The tensors."""
        return self._result

    def source_rank(self) -> int:
        """The rank that sent the message, once it is complete."""
        return self._status.Get_source()

    _source_rank = source_rank

    def _finish(self) -> None:
        self._done = True
        self._ended()
