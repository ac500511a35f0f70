"""The check that lets a well-formed matrix pass without further questions."""

from ..arrays import Array, Float32, Int32

def plain(offsets: Array, ids: Int32, values: Float32, columns: int) -> bool: ...
