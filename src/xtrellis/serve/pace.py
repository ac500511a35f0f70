"""How long a batch of texts will take, by how long others took.

A call of the model has a price of its own, beside which a short text costs little: what one text takes says little of
what thirty take. So what was measured is kept by how many texts there were, in powers of two; what has not been seen
yet goes by fewer texts, which errs on the slow side.
"""

from __future__ import annotations

from collections.abc import Sequence

EACH = 200  # characters that a text counts for beside its own
STEP = 1.2  # by which what is known follows a measurement


def size_of(texts: Sequence[str]) -> int:
    """The work that some texts are, about, in characters."""
    return sum(map(len, texts)) + EACH * len(texts)


class Pace:
    """Seconds a character of one version of a model."""

    def __init__(self, alone: float) -> None:
        self._rates: dict[int, float] = {1: alone}  # by the number of binary digits of how many texts there were

    def rate(self, n_texts: int) -> float:
        """Seconds a character, where there are so many texts."""
        digits = n_texts.bit_length()
        while digits > 1 and digits not in self._rates:
            digits -= 1
        return self._rates[max(1, digits)]

    def expected(self, n_texts: int, size: int) -> float:
        """Seconds that so many texts will take together."""
        return size * self.rate(n_texts)

    def learn(self, n_texts: int, size: int, seconds: float) -> None:
        """So long they took. What is known goes a step up or down towards it, so it comes to where as many are above
        as below: a call that was held up for long, by another program say, counts no more than one that was late."""
        digits, found = max(1, n_texts.bit_length()), seconds / max(1, size)
        known = self._rates.get(digits)
        if known is None:
            self._rates[digits] = found
        else:
            self._rates[digits] = max(known / STEP, min(known * STEP, found))
