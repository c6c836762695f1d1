"""Tensors as buffers of MPI, and PyTorch's reductions as MPI's operators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from mpi4py import MPI

from ..mpi import buffers

TYPES = {
    torch.float32: MPI.FLOAT,
    torch.float64: MPI.DOUBLE,
    torch.int8: MPI.INT8_T,
    torch.uint8: MPI.UINT8_T,
    torch.int16: MPI.INT16_T,
    torch.int32: MPI.INT32_T,
    torch.int64: MPI.INT64_T,
    torch.bool: MPI.C_BOOL,
    torch.complex64: MPI.C_FLOAT_COMPLEX,
    torch.complex128: MPI.C_DOUBLE_COMPLEX,
}
_HALVES = (torch.float16, torch.bfloat16)  # MPI has no such types: reduced as float32

# Of numbers, and of truth values, whose sum is true if one of them is.
_OPERATORS = {
    dist.ReduceOp.SUM: (MPI.SUM, MPI.LOR),
    dist.ReduceOp.AVG: (MPI.SUM, MPI.LOR),  # and divided
    dist.ReduceOp.PRODUCT: (MPI.PROD, MPI.LAND),
    dist.ReduceOp.MIN: (MPI.MIN, MPI.LAND),
    dist.ReduceOp.MAX: (MPI.MAX, MPI.LOR),
    dist.ReduceOp.BAND: (MPI.BAND, MPI.LAND),
    dist.ReduceOp.BOR: (MPI.BOR, MPI.LOR),
    dist.ReduceOp.BXOR: (MPI.BXOR, MPI.LXOR),
}


def operator(op: Any, dtype: torch.dtype) -> MPI.Op:
    """The operator of MPI. Raises RuntimeError for a reduction that it does not have."""
    kind = getattr(op, "op", op)
    found = next((pair for known, pair in _OPERATORS.items() if known == kind), None)
    if found is None:
        raise RuntimeError(f"reduction {op}: latecomer has SUM, AVG, PRODUCT, MIN, MAX and bitwise")
    return found[dtype == torch.bool]


def is_average(op: Any) -> bool:
    """Is the sum divided by the number of ranks?"""
    return bool(getattr(op, "op", op) == dist.ReduceOp.AVG)


def check(*tensors: torch.Tensor) -> None:
    """Raise RuntimeError for tensors that are not dense, or not in the processor's memory."""
    for tensor in tensors:
        if tensor.is_sparse or tensor.device.type != "cpu":
            kind = "sparse" if tensor.is_sparse else tensor.device
            raise RuntimeError(f"tensor: {kind}; latecomer takes dense tensors of the processor")


def _memory(tensor: torch.Tensor) -> Any:
    """The bytes of a contiguous tensor, as an array that keeps its memory."""
    return tensor.reshape(-1).view(torch.uint8).numpy()


def moved(tensor: torch.Tensor) -> list[Any]:
    """The buffer of a contiguous tensor that is moved as it is: in bytes."""
    memory = _memory(tensor)
    return [memory, memory.size, MPI.BYTE]


@contextmanager
def in_parts(tensor: torch.Tensor, sizes: Sequence[int]) -> Iterator[list[Any]]:
    """The buffer of a contiguous tensor in parts of these sizes in bytes, with a count of each.

    The parts may be longer than a count of C. The datatype ends with the block.
    """
    counts, datatype, made = buffers.in_units(sizes)
    try:
        yield [_memory(tensor), counts, datatype]
    finally:
        for each in made:
            each.Free()


@contextmanager
def message(tensor: torch.Tensor) -> Iterator[list[Any]]:
    """The buffer of a contiguous tensor that is sent or received, of any length."""
    with in_parts(tensor, [tensor.numel() * tensor.element_size()]) as (memory, counts, datatype):
        yield [memory, counts[0], datatype]


def combined(tensor: torch.Tensor) -> list[Any]:
    """The buffer of a contiguous tensor that is combined. Raises RuntimeError for other types."""
    if tensor.dtype not in TYPES:
        raise RuntimeError(f"tensor: type {tensor.dtype}; MPI cannot combine it")
    return [_memory(tensor), tensor.numel(), TYPES[tensor.dtype]]


def dense(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, or a contiguous copy, without its history."""
    return tensor.detach().contiguous()


def apart(tensor: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """The dense tensor, or a copy if it may share memory with the other one, which MPI forbids."""
    shared = tensor.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
    return dense(tensor).clone() if shared else dense(tensor)


def widened(tensor: torch.Tensor) -> torch.Tensor:
    """The contiguous tensor in a type that MPI can combine: the same, or a copy."""
    flat = dense(tensor)
    return flat.float() if flat.dtype in _HALVES else flat


def write_back(tensor: torch.Tensor, result: torch.Tensor) -> None:
    """Copy the result of a call into the tensor, unless it is the tensor's own memory."""
    if result.data_ptr() != tensor.data_ptr():
        tensor.detach().copy_(result.view(tensor.shape))
