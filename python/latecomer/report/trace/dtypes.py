"""Types and collectives by the names that programs, kernels and PyTorch's traces have for them."""

from __future__ import annotations

import re
from functools import lru_cache

from .model import UNKNOWN

_NAMES = {
    "allreduce": "allreduce", "allgather": "allgather", "allgatherv": "allgatherv",
    "reducescatter": "reduce_scatter", "reducescatterv": "reduce_scatter",
    "reducescatterblock": "reduce_scatter", "broadcast": "bcast",
    "bcast": "bcast", "reduce": "reduce", "alltoall": "alltoall", "alltoallv": "alltoallv",
    "alltoallw": "alltoallv", "alltoallpivot": "alltoall", "barrier": "barrier",
    "monitoredbarrier": "barrier", "allreducebarrier": "barrier", "gather": "gather",
    "gatherv": "gather", "scatter": "scatter", "scatterv": "scatter",
    "sparseallreduce": "allreduce",
}  # fmt: skip
# What PyTorch appends to say how the tensors lie: `_allgather_base`, `reduce_scatter_tensor`.
_HOW = ("coalesced", "intotensor", "tensor", "single", "base", "list", "inplace", "oop", "out",
        "sparse")  # fmt: skip
_MESSAGES = frozenset({"send", "recv", "isend", "irecv", "recvanysource"})

# Words of a kernel's name, longer ones first.
_IN_KERNEL = re.compile(r"all_?reduce|reduce_?scatter|all_?gatherv?|all_?to_?all(?:v|pivot)?|"
                        r"broadcast|send_?recv|barrier|reduce|gather|scatter", re.I)  # fmt: skip
# Kernels that communicate: of NCCL, RCCL, MSCCL, oneCCL, HCCL, PyTorch, vLLM and TensorRT-LLM.
_COMMUNICATES = re.compile(r"nccl|rccl|msccl|(?:^|[^a-z])(?:one|x|h)?ccl[_A-Z:]|hcom_|nvshmem|"
                           r"deep_?ep::|(?:one|two)_shot_|multimem_|cross_device_|(?:one|two)ShotAll|"
                           r"allreduce_fusion_")  # fmt: skip
_NAMED = re.compile(r"all_?reduce|reduce_?scatter|all_?gather|all_?to_?all", re.I)
_COMPUTES = re.compile(r"triton_")  # these have the names of all operations that they follow

_BYTES = {
    "float": 4, "double": 8, "half": 2, "bfloat16": 2, "int": 4, "long": 8, "short": 2, "byte": 1,
    "char": 1, "bool": 1, "unsigned char": 1, "signed char": 1, "long int": 8, "short int": 2,
    "complexhalf": 4, "complexfloat": 8, "complexdouble": 16, "uint16": 2, "uint32": 4,
    "uint64": 8,
}  # fmt: skip


def collective_of(name: str) -> str:
    """The collective of a name such as `_allgather_base` or `AllReduce`; "": none of ours."""
    letters = re.sub(r"[^a-z]", "", name.lower())
    while letters not in _NAMES:
        shorter = next((letters.removesuffix(how) for how in _HOW if letters.endswith(how)), "")
        if not shorter:
            return ""
        letters = shorter
    return _NAMES[letters]


def is_message(name: str) -> bool:
    """True for messages between two ranks, as in `send` and `recv 0<-1`."""
    return re.sub(r"[^a-z]", "", name.lower()) in _MESSAGES


def communicates(kernel: str) -> bool:
    """Tell whether a kernel's name is that of a library for communication."""
    return bool(_COMMUNICATES.search(kernel)) and not _COMPUTES.match(kernel)


@lru_cache(1 << 12)
def may_communicate(kernel: str) -> bool:
    """Tell whether a kernel that is none of a known library has a collective in its name."""
    return bool(_NAMED.search(kernel.partition("(")[0])) and not _COMPUTES.match(kernel)


def in_kernel(kernel: str) -> tuple[str, str]:
    """The collective that a kernel's name has, and the algorithm behind it; "" where it has none.

    SendRecv is none: it serves messages, all-to-alls, gathers and scatters.
    """
    name = kernel.partition("(")[0]
    if "cross_device_reduce" in name:
        return "allreduce", ""
    found = _IN_KERNEL.search(name)
    if found is None:
        return "", ""
    rest = re.match(r"_?(\w*)", name[found.end() :])
    return collective_of(found[0]), rest[1] if rest else ""


def element_bytes(dtype: str) -> int:
    """The size of a type by its name in traces; UNKNOWN."""
    short = dtype.lower().removeprefix("c10::")
    return 1 if short.startswith(("float8", "float4")) else _BYTES.get(short, UNKNOWN)
