"""Small PDF files, written by hand."""

from __future__ import annotations


def made(*pages: bytes, kids: str | None = None, filters: bytes = b"") -> bytes:
    """A PDF file with these streams as its pages."""
    n = len(pages)
    listed = kids or " ".join(f"{4 + 2 * i} 0 R" for i in range(n))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{listed}]/Count {n}>>".encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for i, content in enumerate(pages):
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents {5 + 2 * i} 0 R"
            "/Resources<</Font<</F1 3 0 R>>>>>>".encode()
        )
        objects.append(b"<<%s/Length %d>>stream\n%s\nendstream" % (filters, len(content), content))
    out, places = b"%PDF-1.4\n", []
    for i, what in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (i, what)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(out))
    return out + b"xref\n0 %d\n0000000000 65535 f \n%s%s" % (len(objects) + 1, table, end)


def page(text: str) -> bytes:
    return f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET".encode()
