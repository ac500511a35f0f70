"""What a parameter may be. Each check can judge a value, read one from text, and rebuild one from JSON."""

from __future__ import annotations

import inspect
import math
import numbers
import re
from typing import TYPE_CHECKING, Any

from .errors import ParameterError, nearest, shown

if TYPE_CHECKING:
    from .config import Configured


LARGEST = 2**31 - 1  # what kernels count in: an integer's bound unless its declaration says otherwise
LONGEST = 2**63 - 1  # of numbers that no kernel counts to: seeds, bytes


class Check:
    """Base: subclasses say what is required (`requirement`) and whether a value meets it (`holds`)."""

    requirement = "anything"

    def __init__(self, *, or_none: bool = False) -> None:
        self.or_none = or_none

    def holds(self, value: Any) -> bool:
        """True if `value` is acceptable."""
        return True

    def read(self, text: str) -> Any:
        """`text` as a value; raises ValueError if it is not one."""
        return text

    def __call__(self, name: str, value: Any) -> None:
        if not (self.or_none and value is None) and not self.holds(value):
            raise self.error(name, value)

    def error(self, name: str, value: Any) -> ParameterError:
        """The one message a wrong value gets."""
        also = " or None" if self.or_none else ""
        return ParameterError(f"{name} must be {self.requirement}{also}; got {shown(value)}")

    def parse(self, name: str, text: str) -> Any:
        """A value from a command line."""
        if self.or_none and text.lower() in ("none", "null", ""):
            return None
        try:
            return self.read(text)
        except ValueError:
            raise self.error(name, text) from None

    def from_json(self, name: str, value: Any) -> Any:
        """A value from `model.json`."""
        return value


class _Number(Check):
    noun = "a number"

    def __init__(
        self,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        above: float | None = None,
        or_none: bool = False,
    ) -> None:
        super().__init__(or_none=or_none)
        self.at_least, self.at_most, self.above = at_least, at_most, above
        bounds = [(at_least, "≥"), (above, ">"), (at_most, "≤")]
        limits = " and ".join(f"{sign} {bound}" for bound, sign in bounds if bound is not None)
        self.requirement = f"{self.noun} {limits}".strip()

    def _in_range(self, value: float) -> bool:
        return (
            not math.isnan(value)
            and (self.at_least is None or value >= self.at_least)
            and (self.at_most is None or value <= self.at_most)
            and (self.above is None or value > self.above)
        )


class integer(_Number):  # noqa: N801 - reads as a word in a declaration
    """A whole number within bounds; never above `at_most`, which only those who exceed it are told of."""

    noun = "an integer"

    def __init__(
        self,
        *,
        at_least: float | None = None,
        at_most: int = LARGEST,
        above: float | None = None,
        or_none: bool = False,
    ) -> None:
        super().__init__(
            at_least=at_least, at_most=at_most if at_most < LARGEST else None, above=above, or_none=or_none
        )
        self.at_most = self._bound = at_most

    def holds(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            return False
        # What does not fit into a kernel's numbers is refused here, not by an overflow far from the mistake.
        return int(value).bit_length() < 64 and self._in_range(int(value))

    def error(self, name: str, value: Any) -> ParameterError:
        if self._bound < LARGEST or not isinstance(value, numbers.Integral) or int(value) <= self._bound:
            return super().error(name, value)
        also = " or None" if self.or_none else ""
        return ParameterError(f"{name} must be {self.requirement}, at most {self._bound}{also}; got {shown(value)}")

    def read(self, text: str) -> int:
        return int(text.replace("_", ""))


class number(_Number):  # noqa: N801
    """A real number within bounds; infinity only where no upper bound is set and `infinite` is."""

    def __init__(self, *, infinite: bool = False, **bounds: Any) -> None:
        super().__init__(**bounds)
        self.infinite = infinite
        if infinite:
            self.requirement += " (inf is allowed)"

    def holds(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            return False
        try:
            real = float(value)
        except OverflowError:  # an integer beyond the largest float
            return False
        return self._in_range(real) and (self.infinite or math.isfinite(real))

    def read(self, text: str) -> float:
        return float(text)

    def from_json(self, name: str, value: Any) -> Any:
        return float(value) if value in ("inf", "-inf") else value


class flag(Check):  # noqa: N801
    """True or False."""

    requirement = "True or False"

    def holds(self, value: Any) -> bool:
        return isinstance(value, bool)

    def read(self, text: str) -> bool:
        word = text.lower()
        if word in ("true", "yes", "on", "1"):
            return True
        if word in ("false", "no", "off", "0"):
            return False
        raise ValueError(text)


class choice(Check):  # noqa: N801
    """One of a few words."""

    def __init__(self, *options: str, or_none: bool = False) -> None:
        super().__init__(or_none=or_none)
        self.options = options
        self.requirement = "one of " + ", ".join(repr(option) for option in options)

    def holds(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.options

    def error(self, name: str, value: Any) -> ParameterError:
        hint = nearest(value, self.options) if isinstance(value, str) else ""
        return ParameterError(f"{super().error(name, value)}{hint if 'did you' in hint else ''}")


class text(Check):  # noqa: N801
    """Any string."""

    requirement = "a string"

    def holds(self, value: Any) -> bool:
        return isinstance(value, str)


class file_path(text):  # noqa: N801
    """The path of a file or folder; what it holds is part of what a training is made from."""

    requirement = "the path of a file"


class part(Check):  # noqa: N801
    """An object with parameters of its own, of a given family (an index builder, an overlap, an encoder)."""

    def __init__(self, family: type[Configured], *, or_none: bool = False) -> None:
        super().__init__(or_none=or_none)
        self.family = family
        self.example: str | None = None  # a class to name, told by the declaration's default
        self.requirement = f"{'an' if family.__name__[0] in 'AEIOU' else 'a'} {family.__name__}"

    def members(self) -> list[type[Configured]]:
        """The classes that it can be an object of, as far as they are imported."""
        return [cls for _, cls in sorted(self._members().items())]

    def error(self, name: str, value: Any) -> ParameterError:
        home = self.family.__module__.partition(".")[0]
        members = [cls.__name__ for cls in self.members() if cls.__module__.partition(".")[0] == home]
        such = value.__name__ if isinstance(value, type) and issubclass(value, self.family) else None
        such = such or self.example or next(iter(members), None)
        return ParameterError(f"{super().error(name, value)}{'' if such is None else f'; such as {such}()'}")

    def _members(self) -> dict[str, type[Configured]]:
        found: dict[str, type[Configured]] = {}
        queue = [self.family]
        while queue:
            cls = queue.pop()
            if not inspect.isabstract(cls):
                found[cls.__name__] = cls
            queue.extend(cls.__subclasses__())
        return found

    def holds(self, value: Any) -> bool:
        return isinstance(value, self.family)

    def _named(self, name: str, wanted: Any) -> type[Configured]:
        members = self._members()
        if not isinstance(wanted, str) or wanted not in members:
            raise ParameterError(
                f"{name} must be {self.requirement}; got {shown(wanted)}{nearest(str(wanted), members)}"
            )
        return members[wanted]

    def parse(self, name: str, text: str) -> Any:
        if self.or_none and text.lower() in ("none", "null", ""):
            return None
        return self._named(name, text)()

    def from_json(self, name: str, value: Any) -> Any:
        if value is None and self.or_none:
            return None
        if not isinstance(value, dict) or set(value) != {"class", "params"} or not isinstance(value["params"], dict):
            raise ParameterError(f"{name} must be an object with 'class' and 'params'; got {value!r}")
        cls = self._named(name, value["class"])
        return cls(**cls.params_from_json(value["params"]))


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([kmgt]i?)?b?", re.IGNORECASE)


class size(Check):  # noqa: N801
    """A number of bytes: an integer, or text such as "4GB" (10^9) or "512 MiB" (2^20). `n_bytes` reads both."""

    requirement = "a number of bytes ≥ 1, such as 4000000000 or '4GB'"

    def holds(self, value: Any) -> bool:
        if isinstance(value, str):
            match = _SIZE.fullmatch(value.strip())
            return match is not None and n_bytes(value) >= 1
        return integer(at_least=1, at_most=LONGEST).holds(value)

    def read(self, text: str) -> str:
        if not self.holds(text):
            raise ValueError(text)
        return text


def n_bytes(value: int | str) -> int:
    """What a value that has passed `size` means."""
    if not isinstance(value, str):
        return int(value)
    match = _SIZE.fullmatch(value.strip())
    if match is None:
        raise ValueError(value)
    return int(float(match[1]) * _UNITS[(match[2] or "").lower()])


def size_text(amount: float) -> str:
    """A size as people say it: `640 bytes`, `1.5 kB`, `23 MB`."""
    if amount < 1000:
        return f"{amount:.0f} bytes"
    for unit in ("kB", "MB", "GB", "TB"):
        amount /= 1000
        if amount < 999.5 or unit == "TB":
            break
    return f"{amount:.1f} {unit}" if amount < 10 else f"{amount:.0f} {unit}"
