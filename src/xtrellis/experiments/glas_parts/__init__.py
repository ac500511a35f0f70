"""Parts of the GLaS experiment: made data with missing labels, how label vectors lie, and its page."""
