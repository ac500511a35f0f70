"""A data set as a folder of mapped files (docs/scale.md): written in one pass, opened at once, larger than memory."""

from ..formats.io import READERS, WRITERS
from .convert import convert, read_folder, write_folder
from .layout import MANIFEST, is_folder
from .opened import RowSource, StoredDataset, open, open_rows
from .writer import Writer

READERS["xt"], WRITERS["xt"] = read_folder, write_folder

__all__ = ["MANIFEST", "RowSource", "StoredDataset", "Writer", "convert", "is_folder", "open", "open_rows"]
