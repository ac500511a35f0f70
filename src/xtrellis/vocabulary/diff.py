"""What two versions of a vocabulary differ in, label by label."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .lookup import numbers_of

if TYPE_CHECKING:
    from .label import Label
    from .vocabulary import Vocabulary

COMPARED = ("names", "alternative", "hidden", "notation", "broader", "related", "state", "replaced_by", "notes")


@dataclass(frozen=True)
class VocabularyDiff:
    """From one version to a later one: ids of labels that came and went, and what changed in those that stayed."""

    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    changed: dict[str, dict[str, tuple[Any, Any]]] = field(default_factory=dict)
    """Of each label that changed: what (names, broader, state, …), before and after."""

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def counts(self) -> dict[str, int]:
        """How many labels came, went, and changed in what."""
        out = {"added": len(self.added), "removed": len(self.removed)}
        for what in COMPARED:
            count = sum(what in changes for changes in self.changed.values())
            if count:
                out[what] = count
        return out

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        changed = {
            id: {what: {"before": before, "after": after} for what, (before, after) in changes.items()}
            for id, changes in self.changed.items()
        }
        return {"counts": self.counts(), "added": self.added, "removed": self.removed, "changed": changed}


def diff_of(old: Vocabulary, new: Vocabulary) -> VocabularyDiff:
    """By ids."""
    there = numbers_of(new, list(old.ids))
    known = numbers_of(old, list(new.ids))
    changed = {}
    for number, other in enumerate(there):
        if other is None:
            continue
        before, after = old[number], new[other]
        changes = {
            what: (_plain(before, what), _plain(after, what))
            for what in COMPARED
            if _compared(before, what) != _compared(after, what)
        }
        if changes:
            changed[before.id] = changes
    return VocabularyDiff(
        added=[new.ids[i] for i, number in enumerate(known) if number is None],
        removed=[old.ids[i] for i, number in enumerate(there) if number is None],
        changed=changed,
    )


def _plain(label: Label, what: str) -> Any:
    return label.to_dict().get(what, label.state if what == "state" else None)


def _compared(label: Label, what: str) -> Any:
    """Without the order in which files have them."""
    value = getattr(label, what)
    if isinstance(value, dict):
        return {key: sorted(some) if isinstance(some, tuple) else some for key, some in value.items()}
    return sorted(value) if isinstance(value, tuple) else value
