"""Collectives and messages under way, as PyTorch waits for them."""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import torch.distributed as dist
from mpi4py import MPI
from torch.futures import Future

# The messages whose work the program has dropped, with all that MPI uses until they are complete.
_dropped: deque[tuple[MPI.Request, Callable[[], None], list[Any]]] = deque()
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_dropped))  # mpi4py ends MPI after Python's objects end


class Collective(dist.Work):  # type: ignore[misc]  # mypy reads no PyTorch
    """A collective, or several in order, that a thread carries out.

    PyTorch's own work of a future would end a wait well though the collective failed.
    """

    def __init__(self, futures: list[Future]) -> None:
        """The result is that of the last future."""
        super().__init__()
        self._futures = futures

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:  # noqa: ARG002 - there is none
        """Wait until the collective has ended. Raises its error."""
        for future in self._futures:
            future.wait()
        return True

    def is_completed(self) -> bool:
        """Has it ended, well or not?"""
        return all(future.done() for future in self._futures)

    def is_success(self) -> bool:
        """Has it ended well?"""
        if not self.is_completed():
            return False
        try:
            return self.wait()
        except Exception:  # whichever it is, wait() tells it
            return False

    def get_future(self) -> Future:
        """The future of the result or error."""
        return self._futures[-1]

    def result(self) -> Any:
        """The result. Waits for it, and raises the collective's error."""
        self.wait()
        return self._futures[-1].value()


class Message(dist.Work):  # type: ignore[misc]  # the same
    """A send or receive under way, which goes on if the program drops it."""

    def __init__(self, request: MPI.Request, result: list[Any], ended: Callable[[], None]) -> None:
        """`ended` runs once, when the message is complete; `result` keeps the tensor alive."""
        super().__init__()
        self._request, self._result, self._ended = request, result, ended
        self._status = MPI.Status()
        self._guard = threading.Lock()
        self._done = False

    def __del__(self) -> None:
        """Leave what MPI uses to forget_dropped()."""
        if not self._done:
            _dropped.append((self._request, self._ended, self._result))

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:  # noqa: ARG002 - MPI has none
        """Wait until the message is complete."""
        with self._guard:
            if not self._done:
                self._request.Wait(self._status)
                self._finish()
        return True

    def is_completed(self) -> bool:
        """Is the message complete? Another thread that waits for it tells that, too."""
        if self._guard.acquire(blocking=False):
            try:
                if not self._done and self._request.Test(self._status):
                    self._finish()
            finally:
                self._guard.release()
        return self._done

    def is_success(self) -> bool:
        """Is it complete? An error would have been raised."""
        return self.is_completed()

    def get_future(self) -> Future:
        """A future that gets the tensors; a thread waits for it."""
        future: Future = Future()

        def finish() -> None:
            try:
                self.wait()
            except Exception as error:  # whichever it is, the future tells it
                future.set_exception(error)
            else:
                future.set_result(self._result)

        threading.Thread(target=finish, daemon=True).start()
        return future

    def result(self) -> list[Any]:
        return self._result

    def source_rank(self) -> int:
        """The rank that sent the message, once it is complete."""
        return self._status.Get_source()

    _source_rank = source_rank

    def _finish(self) -> None:
        self._done = True
        self._ended()


def forget_dropped() -> None:
    """Forget the dropped messages that are complete. Nobody waits for an error of theirs."""
    for _ in range(len(_dropped)):
        with suppress(IndexError, MPI.Exception):  # another thread may have taken the last one
            message = _dropped.popleft()
            request, ended, _ = message
            if request.Test():
                ended()
            else:
                _dropped.append(message)
