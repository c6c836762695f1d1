"""Types and collectives by the names that PyTorch's traces have for them."""

from __future__ import annotations

import re

from .model import UNKNOWN

_NAMES = {
    "allreduce": "allreduce", "allgather": "allgather", "allgatherbase": "allgather",
    "allgatherintotensor": "allgather", "reducescatter": "reduce_scatter",
    "reducescatterbase": "reduce_scatter", "reducescattertensor": "reduce_scatter",
    "broadcast": "bcast", "reduce": "reduce", "alltoall": "alltoall", "alltoallv": "alltoallv",
    "alltoallbase": "alltoall", "barrier": "barrier", "gather": "gather", "scatter": "scatter",
    "allgathersingle": "allgather", "reducescattersingle": "reduce_scatter",
    "alltoallsingle": "alltoall", "allreducesparse": "allreduce", "sparseallreduce": "allreduce",
    "alltoallvsingle": "alltoallv",
}  # fmt: skip
_BYTES = {
    "float": 4, "double": 8, "half": 2, "bfloat16": 2, "int": 4, "long": 8, "short": 2, "byte": 1,
    "char": 1, "bool": 1, "unsigned char": 1, "signed char": 1, "long int": 8, "complexfloat": 8,
    "complexdouble": 16,
}  # fmt: skip


def collective_of(name: str) -> str:
    """The collective of a name such as `_allgather_base` or `AllReduce`; "": none of ours."""
    return _NAMES.get(re.sub(r"[^a-z]", "", name.lower().replace("coalesced", "")), "")


def element_bytes(dtype: str) -> int:
    """The size of a type by its name in traces; UNKNOWN."""
    short = dtype.lower().removeprefix("c10::")
    return 1 if short.startswith("float8") else _BYTES.get(short, UNKNOWN)
