"""Where training and prediction run: threads of this process, or a Ray cluster. The models are the same to the byte."""

from .local import Local
from .predicting import PredictBatches, predict_to
from .ray import Ray

__all__ = ["Local", "PredictBatches", "Ray", "predict_to"]
