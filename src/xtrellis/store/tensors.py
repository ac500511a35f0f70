"""Arrays in safetensors files: written in one pass with their hash, read by memory map.

Files are plain safetensors, readable by that library. They are not *read* with it because it gives no memory-mapped
NumPy arrays: `safetensors.numpy.load_file` and `safe_open(..., "numpy").get_tensor` copy every tensor into memory,
and a model of 1 GB must load in milliseconds and share its pages between processes. The format is eight bytes of
length, a JSON header and the data, so reading it takes less code than working around that.
"""

from __future__ import annotations

import hashlib
import math
import mmap
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from ..arrays import Array
from ..core import StoreError
from . import plain

# Little-endian on disk, whatever the machine. No bool: a byte that is neither 0 nor 1 would be undefined in a kernel.
_CODES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint64": "U64",
    "uint32": "U32",
    "uint16": "U16",
    "uint8": "U8",
}
_NAMES = {code: name for name, code in _CODES.items()}
_ARRAY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.]{0,127}")
_ALIGN = 64  # of the data section: a cache line, and enough for any SIMD load
_CHUNK = 8 << 20
_MAX_DIMENSIONS = 32
_MAX_BYTES = 2**62  # of one array; products beyond would overflow NumPy's own arithmetic

Advance = Callable[[float], None]


@dataclass(frozen=True)
class ArrayInfo:
    """NumPy dtype name and shape of one array."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of data; exact, since Python's integers do not overflow."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


def info_of(name: str, array: Any) -> ArrayInfo:
    """What `array` will be on disk; StoreError if it cannot be stored."""
    if not _ARRAY.fullmatch(name):
        raise StoreError(f"array {name!r:.80} must be named by letters, digits, _ and .")
    if not isinstance(array, np.ndarray):
        raise StoreError(f"array {name!r} must be a NumPy array; got {type(array).__name__}")
    if array.dtype.name not in _CODES:
        raise StoreError(f"array {name!r} has dtype {array.dtype}; the store takes {', '.join(_CODES)}")
    return ArrayInfo(array.dtype.name, array.shape)


def info_from_json(name: str, value: Any) -> ArrayInfo:
    """One entry of `arrays` in model.json; ValueError if it is not one."""
    if not _ARRAY.fullmatch(name):
        raise ValueError(f"array {name!r:.80} must be named by letters, digits, _ and .")
    if not isinstance(value, dict) or set(value) != {"dtype", "shape"}:
        raise ValueError(f"array {name!r} must have 'dtype' and 'shape'; got {value!r:.80}")
    if not isinstance(value["dtype"], str) or value["dtype"] not in _CODES:
        raise ValueError(f"array {name!r} has the unknown dtype {value['dtype']!r:.80}")
    return ArrayInfo(value["dtype"], _shape(name, value["shape"], value["dtype"]))


def write(file: BinaryIO, arrays: Mapping[str, Array], advance: Advance = lambda _: None) -> tuple[int, str]:
    """Write a safetensors file; its size and SHA-256. Contiguous arrays are written from where they are."""
    # Safetensors allows no gaps, so alignment comes from order: wide elements first keeps every array aligned to its
    # element, because all that stands before it is a multiple of an equal or larger power of two.
    order = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    header: dict[str, Any] = {}
    end = 0
    for name in order:
        begin, end = end, end + arrays[name].nbytes
        header[name] = {
            "dtype": _CODES[arrays[name].dtype.name],
            "shape": list(arrays[name].shape),
            "data_offsets": [begin, end],
        }
    text = plain.dump(header)
    text += b" " * (-(8 + len(text)) % _ALIGN)  # spaces are the padding the format prescribes
    if len(text) > plain.MAX_BYTES:
        raise StoreError(f"{len(arrays)} arrays are too many for one object")
    digest = hashlib.sha256()
    for chunk in (len(text).to_bytes(8, "little"), text):
        file.write(chunk)
        digest.update(chunk)
    for name in order:
        for piece in _pieces(arrays[name]):
            file.write(piece)
            digest.update(piece)
            advance(len(piece))
    return 8 + len(text) + end, digest.hexdigest()


def read(mapped: mmap.mmap | memoryview, infos: Mapping[str, ArrayInfo], where: str) -> dict[str, Array]:
    """The arrays of a mapped file: read-only views of its pages, after the header was found to fit file and `infos`."""
    size = len(mapped)
    if size < 8:
        raise StoreError(f"{where}: too short for a safetensors file ({size} bytes)")
    length = int.from_bytes(mapped[:8], "little")
    if length > min(size - 8, plain.MAX_BYTES):
        limit = min(size - 8, plain.MAX_BYTES)
        raise StoreError(f"{where}: its header claims {length} bytes; at most {limit} are possible")
    header = plain.parse(mapped[8 : 8 + length], where)
    start = 8 + length
    try:
        offsets = _check_header(header, infos, size - start)
        if start % _ALIGN:
            raise ValueError(f"its data begins at byte {start}, which is not a multiple of {_ALIGN}")
        return {
            name: np.ndarray(info.shape, np.dtype(info.dtype).newbyteorder("<"), mapped, start + offsets[name])
            for name, info in infos.items()
        }
    except ValueError as error:
        raise StoreError(f"{where}: {error}") from None


def sha256(mapped: mmap.mmap | memoryview, advance: Advance = lambda _: None) -> str:
    """The hash of a mapped file, a few megabytes at a time."""
    digest = hashlib.sha256()
    with memoryview(mapped) as view:
        for begin in range(0, len(view), _CHUNK):
            piece = view[begin : begin + _CHUNK]
            digest.update(piece)
            advance(len(piece))
            piece.release()
            if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                # Read once: let the pages go again, or the whole model stays resident.
                mapped.madvise(mmap.MADV_DONTNEED, begin, min(_CHUNK, len(view) - begin))
    return digest.hexdigest()


def _check_header(header: Any, infos: Mapping[str, ArrayInfo], data_bytes: int) -> dict[str, int]:
    """Where each array begins. ValueError unless the header says what model.json says and fills the file exactly."""
    if not isinstance(header, dict):
        raise ValueError("its header must be a JSON object")
    header.pop("__metadata__", None)  # free text in safetensors; this format gives it no meaning
    if set(header) != set(infos):
        odd = sorted(set(header) ^ set(infos))[0]
        raise ValueError(f"array {odd!r:.80} is {'missing' if odd in infos else 'not listed in model.json'}")
    spans = []
    for name, entry in header.items():
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise ValueError(f"array {name!r} must have dtype, shape and data_offsets; got {entry!r:.80}")
        dtype = _NAMES.get(entry["dtype"]) if isinstance(entry["dtype"], str) else None
        if dtype is None:
            raise ValueError(f"array {name!r} has the unknown dtype {entry['dtype']!r:.80}")
        found = ArrayInfo(dtype, _shape(name, entry["shape"], dtype))
        if found != infos[name]:
            raise ValueError(f"array {name!r} is {_show(found)}; model.json says {_show(infos[name])}")
        begin, end = _offsets(name, entry["data_offsets"])
        if end - begin != found.nbytes:
            raise ValueError(f"array {name!r} needs {found.nbytes} bytes; its offsets span {end - begin}")
        if begin % np.dtype(dtype).itemsize:
            raise ValueError(f"array {name!r} begins at byte {begin}, inside an element")
        spans.append((begin, end, name))
    reached = 0
    for begin, end, name in sorted(spans):
        if begin != reached:
            raise ValueError(f"array {name!r} begins at byte {begin} of the data, not {reached}: a gap or an overlap")
        reached = end
    if reached != data_bytes:
        raise ValueError(f"its arrays take {reached} bytes; the file holds {data_bytes}")
    return {name: begin for begin, _, name in spans}


def _shape(name: str, value: Any, dtype: str) -> tuple[int, ...]:
    if not isinstance(value, list) or len(value) > _MAX_DIMENSIONS or not all(_is_count(n) for n in value):
        raise ValueError(f"array {name!r} must have a shape of integers ≥ 0; got {value!r:.80}")
    # Without the zeros: NumPy multiplies the rest out even for an empty array.
    if math.prod(n for n in value if n) * np.dtype(dtype).itemsize > _MAX_BYTES:
        raise ValueError(f"array {name!r} has the impossible shape {value!r:.80}")
    return tuple(value)


def _offsets(name: str, value: Any) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2 or not all(_is_count(n) for n in value) or value[0] > value[1]:
        raise ValueError(f"array {name!r} must have data_offsets [begin, end]; got {value!r:.80}")
    return value[0], value[1]


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _show(info: ArrayInfo) -> str:
    return f"{info.dtype}{list(info.shape)!r:.80}"


def _bytes(array: Any) -> memoryview:
    """The memory of a contiguous array."""
    return memoryview(array.reshape(-1)).cast("B")


def _pieces(array: Array) -> Iterator[memoryview]:
    """The bytes of `array` in C order, a few megabytes at a time; what is not contiguous is copied piece by piece."""
    if not array.nbytes:
        return
    array = np.atleast_1d(array)
    little = array.dtype.newbyteorder("<")
    if array.flags.c_contiguous and array.dtype == little:
        view = _bytes(array)
        for begin in range(0, len(view), _CHUNK):
            yield view[begin : begin + _CHUNK]
        return
    rows = max(1, _CHUNK * len(array) // array.nbytes)
    for begin in range(0, len(array), rows):
        yield _bytes(np.ascontiguousarray(array[begin : begin + rows], little))
