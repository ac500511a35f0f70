"""The command line. Light on purpose: `xtrellis --help` loads typer and rich, no NumPy; commands import the rest."""

from .app import main, run

__all__ = ["main", "run"]
