"""The vectoriser in plain Python: what the kernels must agree with, for any text."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, pairwise


def fold(text: str) -> str:
    bare = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return unicodedata.normalize("NFC", bare)


def normal(text: str) -> str:
    """NFC, but only the first 30 of a run of combining marks take part in it."""
    out, part, run = "", "", 0
    for c in text:
        run = run + 1 if unicodedata.combining(unicodedata.normalize("NFD", c)[0]) else 0
        if run <= 30:
            part += c
        else:
            out, part = out + unicodedata.normalize("NFC", part) + c, ""
    return out + unicodedata.normalize("NFC", part)


def rewrite(text: str, *, lowercase: bool, fold_accents: bool) -> str:
    out = []
    for c in normal(text):
        if lowercase:
            c = "".join(x.lower() for x in c)
        if fold_accents:
            c = "".join(map(fold, c))
        if lowercase:
            c = "".join(x.lower() for x in c)
        out.append(c)
    return "".join(out)


UNSPACED = (
    "CJK UNIFIED IDEOGRAPH-|CJK COMPATIBILITY IDEOGRAPH-|IDEOGRAPHIC (ITERATION MARK|CLOSING MARK|NUMBER ZERO)|"
    "VERTICAL IDEOGRAPHIC|HIRAGANA |KATAKANA |KATAKANA-HIRAGANA |HALFWIDTH KATAKANA|HENTAIGANA |BOPOMOFO |TANGUT |"
    "NUSHU |THAI |LAO |KHMER |MYANMAR |TAI LE |NEW TAI LUE |TAI THAM |TAI VIET |AHOM |JAVANESE |BALINESE "
)


def unspaced(c: str) -> bool:
    """A letter of a script without spaces between words."""
    letter = unicodedata.category(c)[0] == "L" or c == "〇"
    return letter and re.match(UNSPACED, unicodedata.name(c, "")) is not None


def kind(c: str) -> str:
    """U: letter of a script without spaces; A: another ASCII letter; w: another word character; M: mark; J: joiner."""
    if c in "+#.":
        return c
    if c in "\u00ad\u200c\u200d":
        return "J"
    if unspaced(c):
        return "U"
    if c == "_" or c.isalnum():
        return "A" if c.isascii() and c.isalpha() else "w"
    return "M" if unicodedata.category(c)[0] == "M" else " " if c.isspace() or c < " " else "o"


# By kinds: a run of letters without spaces, or a word with what may belong to it.
TOKEN = re.compile(r"(?P<run>U[UMJ]*)|(?P<dot>\.)?(?P<word>[Aw][AwMJ]*)(?P<signs>\+\+(?![+#])|[+#](?![Aw+#]))?")


def words_of_any_script(text: str, min_length: int) -> list[str]:
    """As `words`, by the rules of any_script.hpp."""
    kinds = "".join(map(kind, text))
    bare = lambda part: re.sub("[\u00ad\u200c\u200d]", "", part)  # noqa: E731
    found: list[str] = []
    before = -9  # where the last word ended, if without signs
    at = 0
    while (m := TOKEN.search(kinds, at)) is not None:
        at = m.end()
        if m["run"]:
            units = [bare(text[m.start() + a.start() : m.start() + a.end()]) for a in re.finditer("U[MJ]*", m["run"])]
            found += [a + b for a, b in pairwise(units)] if len(units) > 1 else units
            continue
        begin, end = m.span("word")
        word, signs = bare(text[begin:end]), m["signs"] or ""
        if signs and len(signs) == 1 and not (len(word) == 1 and kinds[begin] == "A"):
            signs, at = "", end
        dot = begin > 0 and text[begin - 1] == "." and before != begin - 1
        joined = before == begin - 1 and kinds[begin - 1] not in " U"
        joined = joined or re.match("[^ UAwMJ][Aw]", kinds[end:]) is not None
        if dot and not signs and word.lower() == "net" and word.isascii():
            word = "." + word
        word += signs
        if len(word) >= min_length or (len(word) == 1 and min_length == 2 and not joined and word not in "_0123456789"):
            found.append(word)
        before = -9 if signs else end
    return found


def words(text: str, min_length: int) -> list[str]:
    """Runs of word characters."""
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
    cut = words if p.get("words") == "runs" else words_of_any_script
    tokens = cut(text, p.get("min_token_length", 2))
    tokens = [p["form"](word) if "form" in p else word for word in tokens if word not in p.get("stop_words", ())]
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


def origins(text: str) -> Callable[[int, int], tuple[int, int]]:
    """From a span of the normal form to the smallest span of `text` that became it, character by character."""
    whole = normal(text)
    for boundary in (lambda c: unicodedata.category(c)[0] != "M" and not "\u1160" <= c <= "\u11ff", str.isspace):
        begins: list[int] = []
        ends: list[int] = []
        parts: list[str] = []
        start = 0
        for i in range(1, len(text) + 1):
            if i < len(text) and not boundary(text[i]):
                continue
            part = normal(text[start:i])
            parts.append(part)
            if len(part) == i - start:
                begins += range(start, i)
                ends += range(start + 1, i + 1)
            else:
                begins += [start] * len(part)
                ends += [i] * len(part)
            start = i
        if "".join(parts) == whole:
            return lambda begin, end: (begins[begin], ends[end - 1])
    return lambda begin, end: (0, len(text))


def share_out(
    text: str, spans: Iterable[tuple[int, int, Sequence[int]]], pushes: dict[int, float]
) -> list[tuple[int, int, str, float]]:
    """(start, end, text, push) of words, spaces and the rest."""
    places: dict[int, list[tuple[int, int]]] = {}
    for start, end, features in spans:
        for feature in features:
            places.setdefault(feature, []).append((start, end))
    kinds: list[object] = []  # 0: space, 2: the rest, 1: of words, and a number of its own for each unspaced character
    for i, c in enumerate(text):
        if c in "\u00ad\u200c\u200d" or unicodedata.category(c)[0] == "M":
            kinds.append(kinds[-1] if kinds and isinstance(kinds[-1], str) else 1)
        else:
            kinds.append(0 if c.isspace() else str(i) if unspaced(c) else 1 if c.isalnum() or c == "_" else 2)
    amount = [0.0] * len(text)
    for feature, push in pushes.items():
        for start, end in (found := places.get(feature, [])):
            inside = [i for i in range(start, end) if kinds[i]] or range(start, end)
            for i in inside:
                amount[i] += push / len(found) / len(inside)
    out = []
    for _, run in groupby(range(len(text)), key=lambda i: kinds[i]):
        positions = list(run)
        start, end = positions[0], positions[-1] + 1
        out.append((start, end, text[start:end], sum(amount[start:end])))
    return out
