"""Parts of the disentangle experiment: what overlap costs, the preset beside others, and what was tried for it."""
