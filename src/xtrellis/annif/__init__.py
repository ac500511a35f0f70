"""A model of ours as a backend of Annif, in its own process: `backend=xtrellis` in a project's configuration.

Annif has a fixed table of backends. `annif-xtrellis` is Annif's own program with ours in that table; a program or a web
server of your own calls `register` before it uses Annif, or starts `xtrellis.annif:create_app`.
"""

from __future__ import annotations

import sys
from typing import Any

from ..core import MissingExtraError

__all__ = ["BACKEND", "create_app", "main", "register"]

BACKEND = "xtrellis"


def register() -> None:
    """Make `backend=xtrellis` known to Annif in this process; any number of times."""
    _backends()[BACKEND] = _backend_class


def create_app() -> Any:
    """Annif's web application, for gunicorn or uvicorn, with our backend known."""
    register()
    import annif

    return annif.create_app()


def main() -> None:
    """Annif's command line, as `annif-xtrellis`."""
    try:
        register()
    except MissingExtraError as error:
        sys.exit(f"error: {error}")
    from annif.cli import cli

    cli()


def _backends() -> dict[str, Any]:
    try:
        from annif import backend
    except ImportError:
        raise MissingExtraError("annif", "annif", "xtrellis.annif") from None
    found: object = getattr(backend, "_backend_fns", None)
    if not isinstance(found, dict):
        raise MissingExtraError("another version of annif (1.4 is known to work)", "annif", "xtrellis.annif")
    return found


def _backend_class() -> Any:
    """The class, imported when a project asks for it: as Annif's table has it."""
    from .backend import XtrellisBackend

    return XtrellisBackend
