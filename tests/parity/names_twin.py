"""How names are found in texts, in plain Python: every name is looked at, nothing is looked up."""

from __future__ import annotations

import math

from xtrellis.names.features import FEATURES

NAMES = [feature.name for feature in FEATURES]
MOST_NEAR = 4


def common(a: str, b: str) -> int:
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


def likeness(a: str, b: str) -> float:
    alike = common(a, b)
    if alike < 3 or (alike < 5 and alike != min(len(a), len(b))):
        return 0.0
    return alike / max(len(a), len(b))


def near(word: str, words: list[str], least: float) -> list[tuple[str, float]]:
    """The words that are most like one, itself left out."""
    if least > 1:
        return []
    found = [(other, likeness(word, other)) for other in words if other != word]
    found = [(other, alike) for other, alike in found if alike >= least - 1e-6]
    return sorted(found, key=lambda item: (-item[1], words.index(item[0])))[:MOST_NEAR]


class Twin:
    """One text against all forms (main words, qualifiers), which have weights by word."""

    def __init__(self, forms, weights, posts, ambiguity, *, partial, least):
        self.forms, self.weights, self.posts, self.ambiguity = forms, weights, posts, ambiguity
        self.partial, self.least = partial, least
        self.words = sorted(weights, key=str.encode)

    def read(self, text_words):
        # At each place of the text, how like its word is to words of names.
        at = [
            {**dict(near(word, self.words, self.least)), **({word: 1.0} if word in self.weights else {})}
            for word in text_words
        ]
        met = {}
        for alike in at:
            for word, value in alike.items():
                met[word] = max(met.get(word, 0.0), value)
        places = {word: [i for i, alike in enumerate(at) if word in alike] for word in met}
        found = {}
        for number, (main, qualifiers) in enumerate(self.forms):
            match = self._look(number, main, qualifiers, at, met, places)
            if match is not None:
                found[number] = match
        self._nest(found, at, places)
        return found

    def _starts(self, main, places):
        """Where a form begins if its rarest word is in its place."""
        there = [(len(places[word]), i) for i, word in enumerate(main) if word in places]
        _, anchor = min(there)
        return [place - anchor for place in places[main[anchor]]], anchor

    def _in_place(self, main, start, at):
        return [0 <= start + i < len(at) and word in at[start + i] for i, word in enumerate(main)]

    def _look(self, number, main, qualifiers, at, met, places):
        mass = sum(self.weights[word] for word in main)
        found = [word for word in main if word in met]
        alike = sum(self.weights[word] * met[word] for word in found)
        if not found or alike < self.partial * mass:
            return None
        starts, anchor = self._starts(main, places)
        in_place = [self._in_place(main, start, at) for start in starts]
        masses = [[self.weights[w] for w, there in zip(main, inside, strict=True) if there] for inside in in_place]
        best = max(map(sum, masses))
        whole = [start for start, inside in zip(starts, in_place, strict=True) if all(inside)]
        rarest = main[anchor]
        first = whole[0] if whole else places[rarest][0]
        count = len(whole) if whole and len(main) > 1 else len(places[rarest])
        heavy = max(found, key=lambda word: self.weights[word])
        told = sum(self.weights[word] for word in qualifiers)
        features = {
            "share": alike / mass,
            "phrase": best / mass,
            "likeness": alike / sum(self.weights[word] for word in found),
            "mass": alike,
            "tokens": math.log1p(len(found)),
            "characters": math.log1p(sum(map(len, found))),
            "first": math.log1p(first),
            "count": math.log1p(count),
            "words": math.log1p(len(at)),
            "ambiguity": self.ambiguity[number],
            "rivals": math.log1p(self.posts[heavy]),
            "nested": 0.0,
            "qualifier": sum(self.weights[w] * met.get(w, 0.0) for w in qualifiers) / told if told else 0.0,
            "qualified": float(bool(qualifiers)),
        }
        return len(found) < len(main), features, main, bool(whole)

    def _nest(self, found, at, places):
        cover = [0] * len(at)
        any_long = False
        for _, _, main, whole in found.values():
            if whole and len(main) > 1:
                any_long = True
                for start in self._starts(main, places)[0]:
                    if all(self._in_place(main, start, at)):
                        for i in range(len(main)):
                            cover[start + i] = max(cover[start + i], len(main))
        if not any_long:
            return
        for part, features, main, _ in found.values():
            if part:
                continue
            inside = True
            for start in self._starts(main, places)[0]:
                there = self._in_place(main, start, at)
                inside &= any(ok and cover[start + i] > len(main) for i, ok in enumerate(there))
            features["nested"] = float(inside)
