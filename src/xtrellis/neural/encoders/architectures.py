"""The architectures that a TransformerEncoder can be of, and every setting of theirs that it carries.

What the transformers library builds is decided by this list, not by a stranger's file: no class is looked up by a name
that a file holds, no value gets to the library that was not looked at, and what is not on the list is not handed on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core import Check, choice, integer, number, shown

PLACES_AFTER_PADDING = ("roberta", "xlm-roberta", "camembert", "mpnet")  # these count places from padding's number on

_TOKEN = integer(at_least=0, at_most=1 << 24)
_COMMON: dict[str, Check] = {
    "vocab_size": integer(at_least=2, at_most=1 << 24),
    "hidden_size": integer(at_least=1, at_most=1 << 15),
    "num_hidden_layers": integer(at_least=1, at_most=128),
    "num_attention_heads": integer(at_least=1, at_most=1 << 10),
    "intermediate_size": integer(at_least=1, at_most=1 << 18),
    "hidden_act": choice(
        "gelu", "gelu_fast", "gelu_new", "gelu_python", "gelu_pytorch_tanh", "mish", "relu", "silu", "swish", "tanh"
    ),
    "max_position_embeddings": integer(at_least=2, at_most=1 << 20),
}
_NORM: dict[str, Check] = {"layer_norm_eps": number(above=0, at_most=1)}
_BERT = {
    **_COMMON, **_NORM,
    "type_vocab_size": integer(at_least=1, at_most=1 << 10),
    "pad_token_id": integer(at_least=0, at_most=1 << 24, or_none=True),
}  # fmt: skip
_ROBERTA = _BERT | {"pad_token_id": _TOKEN}
_FACTORED = _BERT | {"embedding_size": integer(at_least=1, at_most=1 << 15)}
_DISTILBERT_NAMES = {
    "hidden_size": "dim", "num_hidden_layers": "n_layers", "num_attention_heads": "n_heads",
    "intermediate_size": "hidden_dim", "hidden_act": "activation",
}  # fmt: skip


@dataclass(frozen=True)
class Architecture:
    """Two classes of the transformers library, and the settings that decide what the network computes."""

    config: str
    model: str
    checks: Mapping[str, Check]
    dropouts: tuple[str, ...] = ("hidden_dropout_prob", "attention_probs_dropout_prob")
    names: Mapping[str, str] | None = None  # settings that it calls otherwise

    def own(self, name: str) -> str:
        """What it calls a setting that others call `name`."""
        return (self.names or {}).get(name, name)

    def value(self, name: str, value: Any) -> Any:
        """A setting's value, looked at; a ParameterError, which is a ValueError, if it cannot be."""
        check = self.checks[name]
        check(name, value)
        return float(value) if isinstance(check, number) else value  # the library takes no 1 for 1.0


ARCHITECTURES = {
    "albert": Architecture(
        "AlbertConfig",
        "AlbertModel",
        _FACTORED
        | {
            "num_hidden_groups": integer(at_least=1, at_most=128),
            "inner_group_num": integer(at_least=1, at_most=16),
        },
    ),
    "bert": Architecture("BertConfig", "BertModel", _BERT),
    "camembert": Architecture("CamembertConfig", "CamembertModel", _ROBERTA),
    "distilbert": Architecture(
        "DistilBertConfig",
        "DistilBertModel",
        {_DISTILBERT_NAMES.get(name, name): check for name, check in _COMMON.items()}
        | {"pad_token_id": _BERT["pad_token_id"]},
        ("dropout", "attention_dropout"),
        _DISTILBERT_NAMES,
    ),
    "electra": Architecture("ElectraConfig", "ElectraModel", _FACTORED),
    "mpnet": Architecture(
        "MPNetConfig",
        "MPNetModel",
        # The network asks for 32 buckets whatever this says.
        {**_COMMON, **_NORM, "relative_attention_num_buckets": integer(at_least=32, at_most=1 << 12)},
    ),
    "roberta": Architecture("RobertaConfig", "RobertaModel", _ROBERTA),
    "xlm-roberta": Architecture("XLMRobertaConfig", "XLMRobertaModel", _ROBERTA),
}
SUPPORTED = ", ".join(ARCHITECTURES)

# Settings that are not carried though they would change what comes out: a model may only have these values. All others
# that a config.json may hold are for other tasks, or do not concern what the network computes from a text.
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "add_cross_attention": (None, False),
    "auto_map": (None, {}),  # the network has code of its own
    "is_causal": (None, False),
    "is_decoder": (None, False),
    "is_encoder_decoder": (None, False),
    "layer_types": (None,),
    "per_layer_config": (None, {}),
    "position_embedding_type": (None, "absolute"),
    "pruned_heads": (None, {}),
    "quantization_config": (None,),
    "sliding_window": (None,),
}


@dataclass(frozen=True)
class Settings:
    """The configuration of a network. All values were looked at; ValueErrors name the one that cannot be."""

    model_type: str
    values: dict[str, Any]

    @classmethod
    def of(cls, found: Any) -> Settings:
        """Settings as `to_json` wrote them: all that the architecture has, and no other."""
        if not isinstance(found, dict):
            raise ValueError(f"settings must be a JSON object; got {type(found).__name__}")
        architecture = architecture_of(found)
        values = {name: value for name, value in found.items() if name != "model_type"}
        for name in [*values, *architecture.checks]:
            if name not in architecture.checks:
                raise ValueError(f"the setting {shown(name)} is unknown")
            if name not in values:
                raise ValueError(f"the setting {name} is missing")
            values[name] = architecture.value(name, values[name])
        out = cls(found["model_type"], values)
        out._check_together()
        return out

    @classmethod
    def of_config(cls, found: Any, transformers: Any) -> Settings:
        """Settings from a config.json; what it does not say is as the library has it."""
        if not isinstance(found, dict):
            raise ValueError("config.json must be a JSON object")
        architecture = architecture_of(found)
        for name, allowed in NEUTRAL.items():
            if found.get(name) not in allowed:
                raise ValueError(
                    f"config.json has {name} = {shown(found[name])}, which a TransformerEncoder cannot keep"
                )
        made = getattr(transformers, architecture.config)
        given = {str(made.attribute_map.get(name, name)): value for name, value in found.items()}
        config = made(**{n: architecture.value(n, value) for n, value in given.items() if n in architecture.checks})
        return cls.of(
            {"model_type": found["model_type"]} | {name: getattr(config, name) for name in architecture.checks}
        )

    @property
    def architecture(self) -> Architecture:
        """What the values belong to."""
        return ARCHITECTURES[self.model_type]

    def __getitem__(self, name: str) -> Any:
        """A value by the name that most architectures have for it."""
        return self.values[self.architecture.own(name)]

    @property
    def padding(self) -> int | None:
        """The number that places are counted from; None: they are counted from 0."""
        if self.model_type not in PLACES_AFTER_PADDING:
            return None
        return int(self.values.get("pad_token_id", 1))  # MPNet's is 1 whatever its settings say

    @property
    def longest(self) -> int:
        """Tokens of a text that the network has places for."""
        return int(self["max_position_embeddings"]) - (0 if self.padding is None else self.padding + 1)

    @property
    def n_modules(self) -> int:
        """Layers that are built; in an ALBERT, many share one."""
        if self.model_type == "albert":
            return int(self["num_hidden_groups"]) * int(self["inner_group_num"])
        return int(self["num_hidden_layers"])

    @property
    def n_weights(self) -> int:
        """About how many parameters there will be."""
        hidden = int(self["hidden_size"])
        embedding = int(self.values.get("embedding_size", hidden))
        layer = 4 * hidden**2 + 2 * hidden * int(self["intermediate_size"])
        return embedding * (int(self["vocab_size"]) + int(self["max_position_embeddings"])) + self.n_modules * layer

    def _check_together(self) -> None:
        if self["hidden_size"] % self["num_attention_heads"]:
            raise ValueError(f"hidden_size {self['hidden_size']} must be a multiple of num_attention_heads")
        token = self.values.get("pad_token_id")
        if token is not None and token >= self["vocab_size"]:
            raise ValueError(f"pad_token_id must be below vocab_size, {self['vocab_size']}; got {token}")
        if self.longest < 2:
            raise ValueError(
                f"max_position_embeddings must leave 2 places at least; got {self['max_position_embeddings']}"
            )
        if self.values.get("num_hidden_groups", 1) > self["num_hidden_layers"]:
            raise ValueError(f"num_hidden_groups must not be above num_hidden_layers; got {self['num_hidden_groups']}")

    def to_json(self) -> bytes:
        """Plain JSON, which `of` takes back."""
        return json.dumps({"model_type": self.model_type, **self.values}).encode("ascii")

    def network(self, transformers: Any) -> Any:
        """The network with weights as the library draws them."""
        return getattr(transformers, self.architecture.model)(self.config(transformers))

    def config(self, transformers: Any) -> Any:
        """As the library has it; nothing is dropped inside, since that randomness would depend on the threads."""
        none = dict.fromkeys(self.architecture.dropouts, 0.0)
        return getattr(transformers, self.architecture.config)(**self.values, **none)


def architecture_of(found: Mapping[str, Any]) -> Architecture:
    """By the name in settings."""
    name = found.get("model_type")
    if not isinstance(name, str) or name not in ARCHITECTURES:
        raise ValueError(f"its model_type is {shown(name)}; a TransformerEncoder can be one of: {SUPPORTED}")
    return ARCHITECTURES[name]
