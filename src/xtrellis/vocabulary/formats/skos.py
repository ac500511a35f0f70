"""SKOS: which triples say what of a label. Anything else in the file is passed over."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ...core import DataError
from ..builder import Builder
from ..label import ALTERNATIVE, HIDDEN, NOTATION, NOTE_KINDS, PREFERRED
from .turtle import TYPE, Literal, Triple

SKOS = "http://www.w3.org/2004/02/skos/core#"
XL = "http://www.w3.org/2008/05/skos-xl#"
DCT = "http://purl.org/dc/terms/"
NAMES = {SKOS + "prefLabel": PREFERRED, SKOS + "altLabel": ALTERNATIVE, SKOS + "hiddenLabel": HIDDEN}
XL_NAMES = {XL + "prefLabel": PREFERRED, XL + "altLabel": ALTERNATIVE, XL + "hiddenLabel": HIDDEN}
RELATIONS = {SKOS + relation: relation for relation in ("broader", "narrower", "related")}
NOTES = {
    SKOS + said: NOTE_KINDS.index(kind)
    for said, kind in (
        ("note", "note"), ("definition", "definition"), ("scopeNote", "scope"), ("example", "example"),
        ("historyNote", "history"), ("editorialNote", "editorial"), ("changeNote", "change"),
    )
}  # fmt: skip
NOTATIONS = SKOS + "notation"
LITERAL_FORM = XL + "literalForm"
CONCEPT = SKOS + "Concept"
NO_LABELS = {SKOS + kind for kind in ("ConceptScheme", "Collection", "OrderedCollection")} | {XL + "Label"}
DEPRECATED = "http://www.w3.org/2002/07/owl#deprecated"
REPLACED = DCT + "isReplacedBy"
REPLACES = DCT + "replaces"
RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


def collect(triples: Iterable[Triple], path: Path) -> Builder:
    """All that triples say of labels: of what is a skos:Concept, or has a preferred name and is nothing else."""
    builder = Builder()
    number, name, link, note = builder.number, builder.name, builder.link, builder.note
    met: dict[int, None] = {}  # in the order of the file
    concepts: set[int] = set()
    others: set[int] = set()  # schemes and collections, which have names too
    preferred: set[int] = set()
    spare: dict[int, list[Literal]] = {}  # rdfs:label, for labels without any other name
    forms: dict[str, list[Literal]] = {}  # SKOS-XL has names as things of their own
    xl: list[tuple[int, int, str]] = []
    for subject, predicate, value in triples:
        literal = isinstance(value, Literal)
        if predicate in NAMES:
            if literal:
                label = number(subject)
                name(label, NAMES[predicate], *value)
                preferred.add(label)
                met[label] = None
        elif predicate == TYPE:
            if value == CONCEPT:
                label = number(subject)
                concepts.add(label)
                met[label] = None
            elif value in NO_LABELS:
                others.add(number(subject))
        elif predicate in RELATIONS:
            if not literal:
                link(RELATIONS[predicate], number(subject), number(str(value)))
        elif predicate in NOTES:
            if literal:
                note(number(subject), NOTES[predicate], *value)
        elif predicate == NOTATIONS:
            if literal:
                name(number(subject), NOTATION, value[0])
        elif predicate == DEPRECATED:
            if literal and value[0].strip().lower() in ("true", "1"):
                builder.retire(number(subject))
        elif predicate == REPLACED:
            if not literal:
                builder.retire(number(subject), number(str(value)))
        elif predicate == REPLACES:
            if not literal:
                builder.retire(number(str(value)), number(subject))
        elif predicate == RDFS_LABEL:
            if literal:
                spare.setdefault(number(subject), []).append(Literal(*value))
        elif predicate == LITERAL_FORM:
            if literal:
                forms.setdefault(subject, []).append(Literal(*value))
        elif predicate in XL_NAMES and not literal:
            label = number(subject)
            xl.append((label, XL_NAMES[predicate], str(value)))
            met[label] = None
    for label, kind, node in xl:
        preferred.add(label)
        for form in forms.get(node, ()):
            name(label, kind, *form)
    for label in met:
        if label in concepts or (label in preferred and label not in others):
            builder.declare(label)
    for label, some in spare.items():
        if builder.is_declared(label) and label not in preferred:
            for form in some:
                name(label, PREFERRED, *form)
    if not builder.any_declared:
        raise DataError("has no label: nothing in it is a skos:Concept or has a skos:prefLabel", path=path)
    return builder
