"""A small Ray cluster on this machine, for the tests of a file."""

from __future__ import annotations

import warnings

import pytest

warnings.filterwarnings("ignore", category=FutureWarning, module="ray")


@pytest.fixture(scope="module")
def cluster():
    """One for all tests of a file, since it takes longer to start than they take: engines use what is there."""
    import ray
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 2, "include_dashboard": False, "object_store_memory": 200 << 20}
    for left in (2, 1, 0):
        try:
            cluster = Cluster(initialize_head=True, connect=True, head_node_args=head)
            break
        except Exception:  # Ray gives its own processes half a minute, which is too little on a busy machine
            ray.shutdown()
            if not left:
                raise
    yield cluster
    ray.shutdown()
    cluster.shutdown()
