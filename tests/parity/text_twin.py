"""The vectoriser in plain Python: what the kernels must agree with, for any text."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter


def fold(text: str) -> str:
    bare = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return unicodedata.normalize("NFC", bare)


def rewrite(text: str, *, lowercase: bool, fold_accents: bool) -> str:
    out = []
    for c in unicodedata.normalize("NFC", text):
        if lowercase:
            c = "".join(x.lower() for x in c)
        if fold_accents:
            c = "".join(map(fold, c))
        if lowercase:
            c = "".join(x.lower() for x in c)
        out.append(c)
    return "".join(out)


def words(text: str, min_length: int) -> list[str]:
    found: list[str] = []
    word = ""
    for c in text:
        if c == "_" or c.isalnum() or (word and unicodedata.category(c)[0] == "M"):
            word += c
        else:
            found.append(word)
            word = ""
    found.append(word)
    return [w for w in found if len(w) >= max(1, min_length)]


def dark_words(text: str) -> list[str]:
    return "".join(" " if c.isspace() else c for c in text).split(" ")


def pieces(text: str, shortest: int, longest: int) -> list[str]:
    found = []
    for word in filter(None, dark_words(text)):
        padded = f" {word} "
        for n in range(shortest, longest + 1):
            if len(padded) <= n:
                found.append(padded)
                break
            found += [padded[i : i + n] for i in range(len(padded) - n + 1)]
    return found


def terms(text: str, p: dict) -> list[tuple[int, str]]:
    """(0, word n-gram) and (1, character n-gram)."""
    text = rewrite(text, lowercase=p.get("lowercase", True), fold_accents=p.get("fold_accents", False))
    tokens = words(text, p.get("min_token_length", 2))
    out = [
        (0, " ".join(tokens[i : i + n])) for n in range(1, p.get("ngrams", 1) + 1) for i in range(len(tokens) - n + 1)
    ]
    if p.get("char_ngrams"):
        shortest, longest = map(int, p["char_ngrams"].split("-"))
        out += [(1, piece) for piece in pieces(text, shortest, longest)]
    return out


def order(term: tuple[int, str]) -> tuple[int, bytes]:
    return term[0], term[1].encode("utf-8", "surrogatepass")


def fit_transform(texts: list[str], p: dict) -> tuple[list[tuple[int, str]], list[dict[int, float]]]:
    """Sorted vocabulary, and rows as {column: weight}."""
    n = len(texts)
    counts = [Counter(terms(text, p)) for text in texts]
    df = Counter(term for row in counts for term in row)
    tf: Counter = sum(counts, Counter())
    as_rows = lambda limit: limit * n if isinstance(limit, float) else limit  # noqa: E731
    least, most = as_rows(p.get("min_df", 1)), as_rows(p.get("max_df", 1.0))
    kept = sorted((term for term in df if least <= df[term] <= most), key=order)
    if p.get("max_features") is not None:
        kept = sorted(sorted(kept, key=lambda t: -tf[t])[: p["max_features"]], key=order)
    column = {term: i for i, term in enumerate(kept)}
    rows = []
    for row in counts:
        out = {}
        for term, times in row.items():
            if term not in column:
                continue
            value = 1 + math.log(times) if p.get("sublinear_tf") else float(times)
            if p.get("idf", True):
                value *= math.log((1 + n) / (1 + df[term])) + 1
            out[column[term]] = value
        norm = math.sqrt(sum(v * v for v in out.values())) if p.get("normalize", True) else 1.0
        rows.append({c: v / norm for c, v in out.items()})
    return kept, rows
