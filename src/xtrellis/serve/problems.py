"""`Problem`: what is wrong with a request, as every answer that is no success tells it (RFC 9457, as Annif does)."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

CONTENT_TYPE = b"application/problem+json"


class Problem(Exception):  # noqa: N818 - the RFC's name
    """Ends a request with this status; `detail` says what was wrong and what would be right."""

    def __init__(
        self, status: int, detail: str, *, title: str | None = None, headers: Sequence[tuple[bytes, bytes]] = ()
    ) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail
        self.title = title or HTTPStatus(status).phrase
        self.headers = tuple(headers)

    def to_dict(self) -> dict[str, Any]:
        """The body of the answer."""
        return {"type": "about:blank", "title": self.title, "status": self.status, "detail": self.detail}


class ClientGoneError(Exception):
    """Nobody waits for the answer any more."""
