"""Write unicode_tables.inc: what the text kernels know of Unicode, from this Python's unicodedata.

    python native/text/make_unicode_tables.py            # rewrites native/text/unicode_tables.inc

Word characters are Python's `\\w` (alphanumeric or underscore); marks (categories M*) may continue a word. Lower-casing
is `str.lower` of one code point; folding is NFKD without combining marks, composed again (so that Hangul syllables stay
whole). Kernels only see NFC text, so code points that NFC replaces have no fold entry; but marks have one, since those
after the thirtieth of a run are left as they are.

Scripts without spaces between words are told by the names of their letters. Silent characters only say how letters are
joined or where a line may be broken; those that Unicode calls spaces without width are not among them.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path

EVERY = [c for c in range(sys.maxunicode + 1) if not 0xD800 <= c <= 0xDFFF]


def is_word(char: str) -> bool:
    """Python's `\\w`."""
    return char == "_" or char.isalnum()


def is_mark(char: str) -> bool:
    """May continue a word, never begins one."""
    return unicodedata.category(char)[0] == "M" and not is_word(char)


# Han, kana, Tangut and the like; what UAX #14 calls complex context (South East Asia); Javanese and Balinese.
UNSPACED = (
    "CJK UNIFIED IDEOGRAPH-", "CJK COMPATIBILITY IDEOGRAPH-", "IDEOGRAPHIC ITERATION MARK",
    "IDEOGRAPHIC CLOSING MARK", "IDEOGRAPHIC NUMBER ZERO", "VERTICAL IDEOGRAPHIC ITERATION MARK", "HIRAGANA ",
    "KATAKANA ", "KATAKANA-HIRAGANA ", "HALFWIDTH KATAKANA", "HENTAIGANA ", "BOPOMOFO ", "TANGUT ", "NUSHU ", "THAI ",
    "LAO ", "KHMER ", "MYANMAR ", "TAI LE ", "NEW TAI LUE ", "TAI THAM ", "TAI VIET ", "AHOM ", "JAVANESE ",
    "BALINESE ",
)  # fmt: skip
SILENT = "\u00ad\u200c\u200d"  # soft hyphen, zero width non-joiner and joiner


def is_unspaced(char: str) -> bool:
    """A letter of a script that is written without spaces between words."""
    letter = unicodedata.category(char)[0] == "L" or char == "\u3007"  # the ideographic zero is a number to Unicode
    return letter and unicodedata.name(char, "").startswith(UNSPACED)


def fold(text: str) -> str:
    """Compatibility forms replaced, combining marks removed."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return unicodedata.normalize("NFC", bare)


def in_run(char: str) -> bool:
    """May be one of many marks in a row."""
    return unicodedata.combining(unicodedata.normalize("NFD", char)[0]) > 0


def composing() -> set[str]:
    """Characters that NFC may merge with the one before them."""
    found = {chr(c) for c in range(0x1160, 0x1200)}  # Hangul vowels and finals
    for c in EVERY:
        parts = unicodedata.decomposition(chr(c)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            found.add(chr(int(parts[1], 16)))
    return found


COMPOSING = composing()


def may_change(char: str) -> bool:
    """False if NFC never touches `char`, whatever is around it. Unassigned ones may change in a later Unicode."""
    return (
        unicodedata.category(char)[0] == "M"
        or unicodedata.category(char) == "Cn"
        or char in COMPOSING
        or unicodedata.normalize("NFC", char) != char
    )


def ranges(holds: Callable[[str], bool]) -> list[int]:
    """first, last, first, last, … of the code points for which `holds`."""
    out: list[int] = []
    for c in EVERY:
        if not holds(chr(c)):
            continue
        if out and out[-1] == c - 1:
            out[-1] = c
        else:
            out += [c, c]
    return out


def runs(pairs: Iterable[tuple[int, int]]) -> list[int]:
    """first, last, stride, target of the first; targets rise with their sources by the same stride."""
    out: list[list[int]] = []
    for source, target in pairs:
        if out:
            first, last, stride, begin = out[-1]
            step = source - last
            if step in (1, 2) and stride in (0, step) and target - begin == source - first:
                out[-1] = [first, source, step, begin]
                continue
        out.append([source, source, 0, target])
    return [x for first, last, stride, begin in out for x in (first, last, stride or 1, begin)]


def mapping(function: Callable[[str], str]) -> tuple[list[int], list[int]]:
    """One-to-one changes as runs; all others as (source, count, targets…)."""
    single: list[tuple[int, int]] = []
    other: list[int] = []
    for c in EVERY:
        target = function(chr(c))
        if target == chr(c):
            continue
        if len(target) == 1:
            single.append((c, ord(target)))
        else:
            other += [c, len(target), *map(ord, target)]
    return runs(single), other


def render() -> str:
    """The whole file."""
    lower_runs, lower_other = mapping(str.lower)
    fold_runs, fold_other = mapping(lambda c: fold(c) if unicodedata.normalize("NFC", c) == c or in_run(c) else c)
    tables = {
        "word_ranges": ranges(is_word),
        "mark_ranges": ranges(is_mark),
        "space_ranges": ranges(str.isspace),
        "unspaced_ranges": ranges(is_unspaced),
        "silent_ranges": ranges(SILENT.__contains__),
        "unstable_ranges": ranges(may_change),
        "lower_runs": lower_runs,
        "lower_other": lower_other,
        "fold_runs": fold_runs,
        "fold_other": fold_other,
    }
    lines = [
        "// Generated by make_unicode_tables.py; do not edit.",
        f'inline constexpr const char* unicode_version = "{unicodedata.unidata_version}";',
    ]
    for name, numbers in tables.items():
        lines.append(f"inline constexpr std::uint32_t {name}[] = {{")
        line = ""
        for number in numbers:
            item = f"{number},"
            if len(line) + len(item) > 120:
                lines.append(line)
                line = ""
            line += item
        lines += [line, "};"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("unicode_tables.inc").write_text(render())
