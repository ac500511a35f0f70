"""A data set as a folder of mapped files (docs/scale.md): written in one pass, opened at once, larger than memory."""

from ..formats.io import READERS, WRITERS
from .convert import convert, read_folder, write_folder
from .far import FarRows, all_rows, far_rows, near_rows, rows_in_files
from .layout import MANIFEST, is_folder
from .opened import RowSource, StoredDataset, open
from .writer import Writer

READERS["xt"], WRITERS["xt"] = read_folder, write_folder

__all__ = [
    "MANIFEST", "FarRows", "RowSource", "StoredDataset", "Writer", "all_rows", "convert", "far_rows", "is_folder",
    "near_rows", "open", "rows_in_files",
]  # fmt: skip
