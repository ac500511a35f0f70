"""Commands that change a trained model, and tell what has happened to it."""
