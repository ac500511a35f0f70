"""Models with dense embeddings. Importing this loads no torch; training needs it (extra `deep`)."""

from .elias import Elias
from .encoder import BagEncoder, Encoder
from .glas import Glas
from .ova import EncoderOvA
from .transformer import TransformerEncoder
from .xtransformer import XTransformer

__all__ = ["BagEncoder", "Elias", "Encoder", "EncoderOvA", "Glas", "TransformerEncoder", "XTransformer"]
