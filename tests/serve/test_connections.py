"""A small version of the attack on connections: whoever misbehaves is refused, and all others are answered."""

from __future__ import annotations

from attacks import connections


def test_nobody_else_notices() -> None:
    found = connections.run(1, idle=150, each=6)
    assert not found.n_faults, found.told()
    assert found.groups["silence"] == {"refused": 150}
    assert found.groups["a worker killed"]["answered"] >= 2
