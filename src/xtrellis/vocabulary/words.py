"""How names are compared: as people would, whatever their case and spaces."""

from __future__ import annotations

import re
import unicodedata


def folded(name: str) -> str:
    """The form by which names are found: without case, compatibility forms and further spaces."""
    if name.isascii():
        return " ".join(name.lower().split())
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).split())


def tidy(name: str) -> str:
    """A name as it is kept: in one line, without spaces around it, composed."""
    if name.isascii():
        return name if name.isprintable() and name[:1] != " " and name[-1:] != " " else " ".join(name.split())
    return " ".join(unicodedata.normalize("NFC", name).split())


def pattern(part: str) -> re.Pattern[bytes]:
    """Finds UTF-8 bytes that spell `part` in any case."""
    out = []
    for char in part:
        forms = sorted({form.encode("utf-8", "surrogatepass") for form in (char, char.lower(), char.upper())})
        out.append(b"(?:" + b"|".join(map(re.escape, forms)) + b")" if len(forms) > 1 else re.escape(forms[0]))
    return re.compile(b"".join(out))
