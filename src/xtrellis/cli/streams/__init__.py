"""Rows and texts through a model, from wherever a command line says."""
