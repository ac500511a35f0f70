"""Do commas (or bars, or semicolons) within label cells separate labels, or are they part of names? The file tells.

Labels come back: `cheese` stands alone in one cell, first in another, behind a comma in a third, and a row has two or
five of them. The parts of a name do not: in `Smith, John` what stands behind the comma is a first name wherever it is
met, and there is one comma in every name; or the whole is met as often as its parts. What is neither is not guessed at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

SEVERAL, ONE, UNCLEAR = "several", "one", "unclear"
# Shares of the parts behind a separator that stand in front or alone elsewhere. Of labels that were joined it is 0.2 to
# 0.95 on most real data with 10,000 rows, of authors' names written `Last, First` at most 0.2.
MOVING, RATHER_MOVING, FIXED = 0.5, 0.2, 0.1
VARIED = 0.15  # of the cells with a separator: those with another number of parts than most have
REPEATED = 2.5  # times that labels come back more often than the cells that hold them
AS_WHOLES = 1.5  # times that parts of names do, at most
COMMON = 3  # rows of a whole on average, from which on it can be told that it comes back


def judge(names: Mapping[str, int], separator: str, others: Iterable[str] = ()) -> str:
    """SEVERAL, ONE or UNCLEAR: what cells are that contain the separator.

    `names` are the cells with the number of rows of each; `others` are names that are known to be single labels.
    """
    front, behind, alone, lengths = Counter[str](), Counter[str](), Counter[str](), Counter[int]()
    wholes = 0
    for name, count in names.items():
        parts = parts_of(name, separator) if separator in name else []
        if len(parts) < 2:
            alone[name] += count
            continue
        front[parts[0]] += count
        for part in parts[1:]:
            behind[part] += count
        lengths[len(parts)] += count
        wholes += 1
    cells = lengths.total()
    if not cells:
        return ONE
    elsewhere = front.keys() | alone.keys() | set(others)
    moving = sum(count for part, count in behind.items() if part in elsewhere) / behind.total()
    varied = 1 - max(lengths.values()) / cells >= VARIED
    met = front.keys() | behind.keys()
    a_part = sum(front[part] + behind[part] + alone[part] for part in met) / len(met)
    a_whole = cells / wholes
    come_back = wholes > 1 and a_part >= REPEATED * a_whole
    if come_back and (moving >= MOVING or (varied and moving >= RATHER_MOVING)):
        return SEVERAL
    as_wholes = a_whole >= COMMON and a_part < AS_WHOLES * a_whole
    all_alike = not varied and (moving <= FIXED or (moving < MOVING and alone.total() < cells / 100))
    return ONE if as_wholes or all_alike else UNCLEAR


def parts_of(name: str, separator: str) -> list[str]:
    """What stands between separators, without the blanks around it; nothing between two of them is nothing."""
    return [bare for part in name.split(separator) if (bare := part.strip())]
