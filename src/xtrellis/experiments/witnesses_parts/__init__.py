"""Parts of the experiment on witnesses."""
