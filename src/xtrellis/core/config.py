"""Parameters, declared once: `beam: int = param(integer(at_least=1), "nodes that search keeps", default=10)`.

A class that derives from `Configured` gets a keyword-only constructor that refuses unknown names, checks on every
assignment, `get_params`/`set_params`/`clone` as scikit-learn knows them, a signature and a help text, a `repr` that
shows what differs from the defaults, and a JSON form for the store; wrong calls of its methods are refused in words
(`clear_calls`). Values are kept exactly as given (scikit-learn's `clone` compares identity).
"""

from __future__ import annotations

import copy
import inspect
import math
import numbers
from abc import ABC
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from .calls import clear_calls
from .checks import Check, file_path
from .checks import part as part_of
from .errors import CallError, ParameterError, shown
from .hints import in_parts, known_as, meant

if TYPE_CHECKING:
    from typing_extensions import Self, dataclass_transform
else:  # dataclass_transform only informs type checkers; Python 3.10's typing lacks it

    def dataclass_transform(**_: Any) -> Any:
        """Do nothing at run time."""
        return lambda cls: cls


C = TypeVar("C", bound="Configured")

# When a parameter counts. "fit": it shapes what training makes. "search": it can be changed on a trained model at any
# time. "fit+search": both, it may differ between the two. "machine": it belongs to the computer at hand, not to the
# result (threads, memory): a saved model does not hold it, so the same model has the same bytes wherever it is made.
Role = Literal["fit", "search", "fit+search", "machine"]
_REMARKS = {
    "fit": "",
    "search": " Counts when the model is asked; may be changed at any time.",
    "fit+search": " Counts in training and when the model is asked; may be changed at any time.",
    "machine": " Not saved.",
}


class Param:
    """One declared parameter: its default, the check every value must pass, when it counts, a line for the reader."""

    __slots__ = ("before", "check", "default", "doc", "role")

    def __init__(self, default: Any, check: Check, doc: str, role: Role, before: Any) -> None:
        self.default, self.check, self.doc, self.role, self.before = default, check, doc, role, before


_NEVER = object()  # it has always been there, or its default does what was done before


def param(check: Check, doc: str = "", *, default: Any, role: Role = "fit", before: Any = _NEVER) -> Any:
    """Declare a parameter in a `Configured` class body.

    `before` is what a model was made with that was stored before the parameter existed, if that is not the default.
    """
    if isinstance(check, part_of) and default is not None:
        check.example = type(default).__name__
    return Param(default, check, doc, role, before)


class _Signature:
    """The constructor's signature, made when somebody asks."""

    def __get__(self, obj: object, owner: type[Configured]) -> inspect.Signature:
        kind = inspect.Parameter.KEYWORD_ONLY
        return inspect.Signature(
            [
                inspect.Parameter(name, kind, default=declared.default, annotation=owner._annotation(name))
                for name, declared in owner._params.items()
            ]
        )


@clear_calls
@dataclass_transform(kw_only_default=True, field_specifiers=(param,))
class Configured(ABC):  # noqa: B024 - the abstract methods are those of kinds of models, indexes and encoders
    """Base class of everything with parameters: models, index builders, vectorisers."""

    _params: ClassVar[dict[str, Param]] = {}
    __signature__: ClassVar[Any] = _Signature()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        declared = {name: value for name, value in vars(cls).items() if isinstance(value, Param)}
        inherited = {name: value for name, value in cls._params.items() if name not in declared}
        cls._params = {**declared, **inherited}  # what is special to a class comes first
        for name, declaration in declared.items():
            setattr(cls, name, declaration.default)  # so that documentation tools see the default
        if cls._params:
            cls.__doc__ = f"{inspect.cleandoc(cls.__doc__ or '')}\n\nParameters\n----------\n{cls._param_docs()}"
        clear_calls(cls)

    @classmethod
    def _annotation(cls, name: str) -> str:
        found = (str(inspect.get_annotations(c)[name]) for c in cls.__mro__ if name in inspect.get_annotations(c))
        return next(found, "Any")

    @classmethod
    def _param_docs(cls) -> str:
        lines = []
        for name, declared in cls._params.items():
            said = declared.doc[:1].upper() + declared.doc[1:]
            lines.append(f"{name} : {cls._annotation(name)}, default {_brief(declared.default)}")
            lines.append(f"    {said}.{_REMARKS[declared.role]}")
        return "\n".join(lines)

    def __new__(cls, *_: Any, **__: Any) -> Self:
        if inspect.isabstract(cls):
            lacking = ", ".join(sorted(cls.__abstractmethods__))
            raise CallError(f"{cls.__name__} is a base class: a class of its kind that can be used has {lacking}")
        return super().__new__(cls)

    def __init__(self, *by_place: Any, **params: Any) -> None:
        if by_place:
            raise CallError(self._only_by_name(by_place[0]))
        for name, declaration in self._params.items():
            # A default that is itself Configured (an index builder) must not be shared between models.
            value = params[name] if name in params else copy.deepcopy(declaration.default)
            setattr(self, name, value)
        for name, value in params.items():
            if name not in self._params:
                raise self._no_parameter(name, shown(value), "set_params({path}={value})")

    def __setattr__(self, name: str, value: Any) -> None:
        declaration = self._params.get(name)
        if declaration is not None:
            declaration.check(name, value)
        super().__setattr__(name, value)

    @classmethod
    def _only_by_name(cls, value: Any) -> str:
        """Why `value` by place is refused, with the parameter that it may have been meant for: a part first."""
        ordered = sorted(cls._params.items(), key=lambda item: not isinstance(item[1].check, part_of))
        likely = next((name for name, declared in ordered if declared.check.holds(value)), None)
        such = "" if likely is None else f", such as {cls.__name__}({likely}={shown(value)})"
        return f"{cls.__name__} takes its parameters by name{such}; got {shown(value)} without one"

    def _no_parameter(self, name: str, value: str, typed: str) -> ParameterError:
        """The refusal of an unknown name; if a part has it, or might have it, that is told as it is `typed`."""
        unknown = f"{type(self).__name__} has no parameter {shown(name)}"
        if known_as(name, self._params) is None:
            inner = [path for path in self.get_params() if "__" in path]
            path = name if name in inner else in_parts(name, inner, self._params)
            if path is not None:
                told = typed.format(path=path, dotted=path.replace("__", "."), value=value)
                return ParameterError(f"{unknown}; there is one in {path.partition('__')[0]}: {told}")
            for where, declared in self._params.items():
                for cls in declared.check.members() if isinstance(declared.check, part_of) else ():
                    if name in cls._params:
                        made = f"{where}={cls.__name__}({name}={value})"
                        return ParameterError(f"{unknown}; {cls.__name__} has one: {made}")
        return ParameterError(unknown + meant(name, self._params))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters by name; with `deep`, those of nested parts too, as `part__name`."""
        found = {name: getattr(self, name) for name in self._params}
        if deep:
            for name, value in list(found.items()):
                if isinstance(value, Configured):
                    found.update({f"{name}__{inner}": v for inner, v in value.get_params().items()})
        return found

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name (`part__name` reaches into a part); nothing changes if one of them is wrong."""
        # Whole parts first, so that `index=…, index__arity=…` means the same in either order.
        ordered = sorted(params.items(), key=lambda item: "__" in item[0])
        trial = copy.copy(self)  # every name and value is tried on a copy first
        for target in (trial, self):
            for name, value in ordered:
                head, nested, rest = name.partition("__")
                if head not in target._params:
                    raise target._no_parameter(name, shown(value), "{path}={value}")
                if not nested:
                    setattr(target, head, value)
                    continue
                part = target._part(head, rest)
                if target is trial:
                    part = copy.deepcopy(part)
                    setattr(trial, head, part)
                part.set_params(**{rest: value})
        return self

    def set_from_text(self, name: str, text: str) -> None:
        """Set a parameter from a command line's `name=text`; dots or `__` reach into parts: `index.arity=8`."""
        head, nested, rest = name.replace("__", ".").partition(".")
        if head not in self._params:
            raise self._no_parameter(head, text, "{dotted}={value}")
        if not nested:
            setattr(self, head, self._params[head].check.parse(head, text))
        else:
            self._part(head, rest).set_from_text(rest, text)

    def _part(self, name: str, wanted: str) -> Configured:
        part = getattr(self, name)
        if not isinstance(part, Configured):
            raise ParameterError(f"{type(self).__name__}.{name} is {shown(part)} and has no parameter {shown(wanted)}")
        return part

    def clone(self) -> Self:
        """A new, unfitted object with the same parameters."""
        params = self.get_params(deep=False)
        return type(self)(**{k: v.clone() if isinstance(v, Configured) else v for k, v in params.items()})

    def to_config(self) -> dict[str, Any]:
        """Plain JSON: `{"class": …, "params": {…}}`."""
        return {"class": type(self).__name__, "params": self.params_to_json("fit", "search", "fit+search")}

    def params_to_json(self, *roles: Role) -> dict[str, Any]:
        """The parameters that count then, as plain JSON; of parts, all but the machine's."""
        return {name: _to_json(getattr(self, name)) for name, p in self._params.items() if p.role in roles}

    def named_files(self) -> Iterator[Path]:
        """Files and folders that parameters name, those of parts too: a training is made from what they hold."""
        for name, declared in self._params.items():
            value = getattr(self, name)
            if isinstance(declared.check, file_path) and value:
                yield Path(value)
            for inner in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(inner, Configured):
                    yield from inner.named_files()

    @classmethod
    def params_from_json(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        """The inverse of `to_config()["params"]`; nested parts are rebuilt by name among the classes allowed there."""
        for name in params:
            if name not in cls._params:
                raise ParameterError(f"{cls.__name__} has no parameter {shown(name)}{meant(name, cls._params)}")
        found = {name: cls._params[name].check.from_json(name, value) for name, value in params.items()}
        then = {name: p.before for name, p in cls._params.items() if p.before is not _NEVER and name not in found}
        return {**found, **then}

    def __repr__(self) -> str:
        changed = [
            f"{n}={_brief(getattr(self, n))}" for n, p in self._params.items() if not same(getattr(self, n), p.default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(same(getattr(self, name), getattr(other, name)) for name in self._params)

    __hash__ = object.__hash__


def _to_json(value: Any) -> Any:
    if isinstance(value, Configured):
        return value.to_config()
    if isinstance(value, Mapping):
        return {str(name): _to_json(item) for name, item in value.items()}
    if getattr(value, "ndim", 0) and hasattr(value, "tolist"):  # an array
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_to_json(item) for item in value]
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):  # NumPy's floats and fractions are kept as given, but JSON has neither
        real = float(value)
        return real if math.isfinite(real) else str(real)
    return value


def _brief(value: Any) -> str:
    """`repr`, except of long collections, which nobody wants to read."""
    if not isinstance(value, str) and hasattr(value, "__len__") and len(value) > 10:
        return f"<{type(value).__name__} of {len(value)}>"
    return repr(value)


def same(a: Any, b: Any) -> bool:
    """Equal as parameters: arrays by their content."""
    try:
        return bool(a == b)
    except ValueError:  # arrays
        return a is b or bool(_to_json(a) == _to_json(b))
