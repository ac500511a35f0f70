"""Parts of the ELIAS experiment: what an index looks like and costs, and its page."""
