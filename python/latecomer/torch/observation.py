"""Who is late in a model's training, whatever reduces its gradients.

Annotations of the hook are objects, not texts, since PyTorch compares them.
"""

import functools
import hashlib
import json
import queue
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.distributed.fsdp import FSDPModule
from torch.nn.parallel import DistributedDataParallel

from ..base.clock import clock_of_this_process
from ..base.errors import UserError
from ..base.summary import RankSummary, Summary

_ROUNDS = 3  # messages to each rank, to compare clocks
_PATIENCE_S = 60
_TEXT = 1024  # bytes of a value
Hook = Callable[[Any, dist.GradBucket], torch.futures.Future[torch.Tensor]]


def observe(what: Any, *, group: Any = None, every: int = 100) -> Any:
    """Note when the ranks come to a model's collectives, and tell who is late.

        watched = latecomer.torch.observe(model)     # before the first step
        train()
        print(watched.summary())                     # on all ranks

    `what` is a model of DistributedDataParallel, which gets PyTorch's hook that averages gradients;
    a model of `fully_shard`, whose all-gathers and reduce-scatters get functions that do what
    PyTorch's do; or a communication hook of DDP, of which an observed one is returned, to register.

    Works with any backend, and needs no MPI. A rank arrives when the program asks for a call, and
    leaves when it is done; with GPUs both are when work is enqueued, not when the GPU gets to it.
    After each `every` calls a thread exchanges the times and compares the clocks of the hosts, by
    Gloo, among the ranks of `group` (None: the model's, else all); ranks of one host read one
    clock. All ranks of the group must call observe() together, and summary() too.

    Raises ValueError for `every`, and UserError for other models.
    """
    if every < 1:
        raise ValueError(f"every: {every}; the number of calls between exchanges, from 1 up")
    if not isinstance(what, torch.nn.Module):
        record = _Record(group, every)
        hook = _watched(what, record)
        hook.summary = record.summary
        return hook
    if isinstance(what, DistributedDataParallel):
        record = _Record(group or what.process_group, every)
        what.register_comm_hook(what.process_group, _watched(allreduce_hook, record))
        return record
    sharded = [each for each in what.modules() if isinstance(each, FSDPModule)]
    if not sharded:
        raise UserError(
            "a model whose collectives cannot be observed", type(what).__name__,
            "give one of DistributedDataParallel or fully_shard; FullyShardedDataParallel has no "
            "place from which its all-gathers can be seen",
        )  # fmt: skip
    record = _Record(group, every)
    for each in sharded:
        each.set_custom_all_gather(_Sharded(record, _all_gather))
        each.set_custom_reduce_scatter(_Sharded(record, _reduce_scatter))
    return record


def _watched(hook: Hook, record: "_Record") -> Any:
    @functools.wraps(hook)
    def watched(state: Any, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        entry = record.arrive()
        try:
            future = hook(state, bucket)
        except BaseException:
            record.leave(entry)  # the other ranks may have it as a call, too
            raise

        def leave(done: torch.futures.Future[torch.Tensor]) -> torch.Tensor:
            record.leave(entry)
            return done.value()

        return future.then(leave)

    return watched


class _Sharded:
    """A collective of fully_shard, as its set_custom_ functions take it."""

    def __init__(self, record: "_Record", call: Callable[..., Any]) -> None:
        self._record, self._call = record, call

    def allocate(self, size: Any, *, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        return torch.empty(*size, dtype=dtype, device=device)

    def __call__(
        self, output_tensor: torch.Tensor, input_tensor: torch.Tensor, *words: Any, **more: Any
    ) -> Any:
        entry = self._record.arrive()
        try:
            return self._call(output_tensor, input_tensor, *words, **more)
        finally:
            self._record.leave(entry)


# As PyTorch 2.13 calls them, and as it did before.
_all_gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
_reduce_scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor


class _Peers:
    """Messages between some ranks, which count from 0 here.

    No process group: `new_group` wants all ranks of the job, or as many groups on each of these.
    """

    made: ClassVar[Counter[str]] = Counter()

    def __init__(self, ranks: Sequence[int]) -> None:
        key = "_".join(map(str, ranks))
        self.made[key] += 1  # alike on these ranks
        name = hashlib.sha1(key.encode(), usedforsecurity=False).hexdigest()
        store = dist.PrefixStore(f"latecomer/{name}/{self.made[key]}",
                                 dist.distributed_c10d._get_default_store())  # fmt: skip
        self.me, self.count = ranks.index(dist.get_rank()), len(ranks)
        self._gloo = dist.ProcessGroupGloo(store, self.me, self.count)

    def gather(self, mine: torch.Tensor) -> list[torch.Tensor]:
        """The tensors of all, which have one shape and type."""
        everyone = [torch.empty_like(mine) for _ in range(self.count)]
        self._gloo.allgather([everyone], [mine]).wait()
        return everyone

    def gather_values(self, mine: Any) -> list[Any]:
        """The values of all, each of some hundred characters as JSON at most."""
        text = json.dumps(mine).encode().ljust(_TEXT)
        found = self.gather(torch.frombuffer(bytearray(text), dtype=torch.uint8))
        return [json.loads(bytes(each.tolist())) for each in found]

    def send(self, note: torch.Tensor, to: int) -> None:
        self._gloo.send([note], to, 0).wait()

    def receive(self, note: torch.Tensor, source: int) -> None:
        self._gloo.recv([note], source, 0).wait()


class _Record:
    """The times of this rank, and what the exchanges found."""

    def __init__(self, group: Any, every: int) -> None:
        ranks = dist.get_process_group_ranks(group or dist.group.WORLD)
        self._peers = _Peers(ranks)
        self._ranks, self._every = ranks, every
        self._me = self._peers.me
        self._entries: list[list[float]] = []  # of [arrival, exit]
        clocks = self._peers.gather_values(clock_of_this_process())
        self._common = [clock == clocks[0] for clock in clocks]  # with the first rank
        self._guard = threading.Lock()
        self._began: float | None = None
        self._totals = np.zeros((5, len(ranks)))  # calls, last, waiting, moving, caused of ranks
        self._clock_error = 0.0
        self._error: Exception | None = None  # that ended the exchanges
        self._batches: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._exchange_batches, daemon=True).start()

    def arrive(self) -> list[float]:
        entry = [time.monotonic(), 0.0]
        self._began = self._began or entry[0]
        with self._guard:
            self._entries.append(entry)
        return entry

    def leave(self, entry: list[float]) -> None:
        entry[1] = time.monotonic()
        with self._guard:
            first = self._entries[: self._every]
            if len(first) == self._every and all(left for _, left in first):
                self._batches.put((self._take(self._every), None))

    def _take(self, count: int) -> np.ndarray:
        """The first calls, the same ones on all ranks."""
        taken, self._entries = self._entries[:count], self._entries[count:]
        return np.array(taken).reshape(-1, 2)

    def summary(self) -> Summary:
        """The times of all ranks so far, alike on all of them. All ranks must call it.

        Raises UserError where an exchange failed, as it does when a rank has ended.
        """
        elapsed = time.monotonic() - (self._began or time.monotonic())
        done = threading.Event()
        with self._guard:
            self._batches.put((self._take(len(self._entries)), done))
        if not done.wait(_PATIENCE_S):
            raise RuntimeError(f"summary: no exchange in {_PATIENCE_S} s; all ranks must call it")
        if self._error:
            what, remedy = "the ranks' exchange of times failed", "let all ranks call summary()"
            raise UserError(what, self._error, f"{remedy} before any ends") from self._error
        about = self._peers.gather_values((socket.gethostname(), elapsed))
        calls, last, waiting, moving, caused = self._totals
        ranks = tuple(
            RankSummary(rank, host, seconds, int(calls[i]), int(calls[i]), int(last[i]),
                        float(waiting[i]), float(moving[i]), float(caused[i]))
            for i, (rank, (host, seconds)) in enumerate(zip(self._ranks, about, strict=True))
        )  # fmt: skip
        nothing = "No call was seen: observe() comes before the first step."
        return Summary(ranks, nothing, self._clock_error)

    def _exchange_batches(self) -> None:
        while True:
            times, done = self._batches.get()
            try:
                if not self._error:  # the others do not expect this rank's next batch
                    self._exchange(times)
            except Exception as error:  # whichever it is, summary() tells it
                self._error = error
            if done:
                done.set()

    def _exchange(self, times: np.ndarray) -> None:
        """Add the batch, which has as many entries on all ranks."""
        offset, error = self._compare_clocks()
        mine = torch.from_numpy(np.append((times - offset).ravel(), error))
        everyone = self._peers.gather(mine)
        errors = [float(each[-1]) for each in everyone]
        self._clock_error = max(self._clock_error, *errors)
        both = np.stack([each[:-1].numpy().reshape(-1, 2) for each in everyone])
        arrival, leave = both[:, :, 0], both[:, :, 1]  # [rank, call]
        if not arrival.size:
            return
        latest, last, count = arrival.max(axis=0), arrival.argmax(axis=0), len(self._ranks)
        waiting = np.maximum(0, np.minimum(latest, leave) - arrival)
        self._totals += [
            np.full(count, arrival.shape[1]),
            np.bincount(last, minlength=count),
            waiting.sum(axis=1),
            np.maximum(0, leave - latest).sum(axis=1),
            np.bincount(last, waiting.sum(axis=0), count),
        ]

    def _compare_clocks(self) -> tuple[float, float]:
        """This clock's offset from the first rank's, and the bound of its error, in seconds.

        Ranks that read the first one's clock need no messages for that.
        """
        if self._me == 0:
            for rank in (rank for rank, same in enumerate(self._common) if not same):
                for _ in range(_ROUNDS):
                    note = torch.empty(1, dtype=torch.float64)
                    self._peers.receive(note, rank)
                    note[0] = time.monotonic()
                    self._peers.send(note, rank)
        if self._common[self._me]:
            return 0.0, 0.0
        offset, error = 0.0, float("inf")
        for _ in range(_ROUNDS):
            note = torch.zeros(1, dtype=torch.float64)
            sent = time.monotonic()
            self._peers.send(note, 0)
            self._peers.receive(note, 0)
            received = time.monotonic()
            if (received - sent) / 2 < error:
                error = (received - sent) / 2
                offset = (sent + received) / 2 - float(note)
        return offset, error
