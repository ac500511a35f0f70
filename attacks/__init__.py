"""Attacks on the library: `python -m attacks` (or `make attack`) runs them, docs/reliability.md shows what came out.

An attack is an endless list of numbered cases. A case depends on the name of the attack, the seed and its number alone,
so `python -m attacks NAME --seed SEED --case NUMBER` does the same again. Cases run in a process of their own with a
limit of time and memory; what comes out is counted (`common.py`).
"""
