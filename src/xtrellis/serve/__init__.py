"""Models behind HTTP: our API, Annif's, and a page for people. Needs the extra `serve`, loaded when asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core import MissingExtraError
from .settings import Limits, Settings, name_models

if TYPE_CHECKING:
    from collections.abc import Callable

    from .app import App

__all__ = ["Limits", "Settings", "make_app", "name_models", "require_extra", "serve"]


def serve(settings: Settings, *, say: Callable[[str], None] = lambda line: None) -> None:
    """Answer requests until SIGINT or SIGTERM; those under way are finished. `say` hears where to find the page."""
    require_extra()
    from .server import run

    run(settings, say)


def make_app(settings: Settings) -> App:
    """An ASGI application, to be run by a server of your own; it loads the models when the server starts it."""
    require_extra()
    from .app import App

    return App(settings)


def require_extra() -> None:
    """Refuse to go on where the extra is not installed."""
    try:
        import httptools  # noqa: F401
        import msgspec  # noqa: F401
        import uvicorn  # noqa: F401
        import uvloop  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(str(error.name), "serve", "serving models over HTTP") from None
