"""A thread that carries out collectives on a communicator of its own, in the order they come."""

from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from mpi4py import MPI
from torch.futures import Future

from ..base.errors import UserError
from ..mpi import Communicator

Task = Callable[[Communicator], Any]
Tasks = queue.SimpleQueue[tuple[Task, Future] | None]  # None: the end

_PATIENCE_S = 10  # a call may wait for a rank that is gone

_LEVELS = {
    MPI.THREAD_SINGLE: "MPI_THREAD_SINGLE",
    MPI.THREAD_FUNNELED: "MPI_THREAD_FUNNELED",
    MPI.THREAD_SERIALIZED: "MPI_THREAD_SERIALIZED",
}


class Worker:
    """A thread with a communicator of the same ranks as `comm`.

    Making it is collective over `comm`. Tasks of all ranks must come in the same order.
    """

    def __init__(
        self,
        comm: MPI.Comm,
        algorithm: str | Mapping[str, str] | None = "auto",
        estimate: str | None = "online",
        *,
        closed: str = "this group was destroyed",
    ) -> None:
        """Raise UserError where threads may not call MPI at the same time.

        `closed`: what submit() says after close().
        """
        check_threads()
        self.communicator = Communicator(comm.Dup(), algorithm=algorithm, estimate=estimate)
        self._tasks: Tasks = queue.SimpleQueue()
        self._guard, self._closed = threading.Lock(), closed
        self._run = threading.Thread(
            target=_work, args=(self._tasks, self.communicator), name="latecomer", daemon=True
        )
        self._run.start()
        # At the end of the program, too: a thread that were still in PyTorch then would abort it.
        self._end = weakref.finalize(self, _end, self._tasks, self._guard, self._run)

    def submit(self, task: Task) -> Future:
        """Let the thread run `task` after those before it; the future gets its result or error.

        Raises RuntimeError after close(): nothing would end the wait for the future.
        """
        future: Future = Future()
        with self._guard:  # no task comes after the end
            if not self._end.alive:
                raise RuntimeError(f"latecomer: {self._closed}")
            self._tasks.put((task, future))
        return future

    def close(self) -> bool:
        """End the thread after the tasks that it has. Local; the communicator stays.

        False if it goes on: a task waits for another rank.
        """
        self._end()
        return not self._run.is_alive()


def _work(tasks: Tasks, communicator: Communicator) -> None:
    while (entry := tasks.get()) is not None:
        task, future = entry
        try:
            result = task(communicator)
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(result)
        del entry, task, future  # tensors end with their call


def _end(tasks: Tasks, guard: threading.Lock, run: threading.Thread) -> None:
    with guard:
        tasks.put(None)
    run.join(_PATIENCE_S)


def check_threads() -> None:
    """Raise UserError unless threads may call MPI at the same time."""
    level = MPI.Query_thread()
    if level != MPI.THREAD_MULTIPLE:
        raise UserError(
            "latecomer.torch calls MPI from a thread of its own, which needs MPI_THREAD_MULTIPLE",
            _LEVELS.get(level, level),
            'leave mpi4py.rc.thread_level at "multiple" before mpi4py.MPI is imported, and use an '
            "MPI library that was built with it",
        )
