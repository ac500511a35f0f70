"""Parts of the tradeoff experiment: what is measured beside the curves, and the tables of its page."""
