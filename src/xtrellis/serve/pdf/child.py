"""`python -m xtrellis.serve.pdf.child PAGES CHARACTERS SECONDS BYTES < file.pdf`: its text, as JSON.

It limits itself before it reads a byte, and trusts nothing that the file says.
"""

from __future__ import annotations

import json
import logging
import resource
import sys
import warnings
from io import BytesIO
from typing import Any


def main() -> None:
    """Read stdin, write stdout."""
    pages, characters, seconds, n_bytes = map(int, sys.argv[1:5])
    import pypdf  # before the limits: a library may open files

    for what, most in (
        (resource.RLIMIT_AS, n_bytes),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, 0),
    ):
        resource.setrlimit(what, (most, most))
    logging.disable()
    warnings.simplefilter("ignore")
    sys.stdout.write(json.dumps(told(pypdf, sys.stdin.buffer.read(), pages, characters)))


def told(pypdf: Any, raw: bytes, pages: int, characters: int) -> dict[str, Any]:
    """The text of the first pages, or what is wrong."""
    try:
        file = pypdf.PdfReader(BytesIO(raw))
        if file.is_encrypted and not file.decrypt(""):
            return {"error": "is locked by a password"}
        n_pages, parts, size, n_read = len(file.pages), [], 0, 0
        for page in file.pages[:pages]:
            found = page.extract_text()
            parts.append(found)
            size, n_read = size + len(found) + 2, n_read + 1
            if size > characters:
                break
    except MemoryError:
        return {"error": "takes too much memory to read"}
    except Exception as error:  # whatever a damaged file makes the library do
        return {"error": f"is damaged: {type(error).__name__}"}
    text = "\n\n".join(parts)[:characters].encode("utf-8", "replace").decode().replace("\0", " ")
    if not text.strip():
        return {"error": "has no text in it; are its pages pictures? Text recognition (OCR) is not done here"}
    return {"text": text, "pages": n_pages, "read": n_read}


if __name__ == "__main__":
    main()
