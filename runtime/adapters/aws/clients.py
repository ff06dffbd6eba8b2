"""How every client but the model's is set up. Clients are made once per environment and shared between threads."""

from botocore.config import Config

# A store answers in milliseconds. A request that hangs must not take the slice's time with it, and all of ours may be
# sent again: conditional, with a key of ours, or with a deduplication id.
CONNECT_TIMEOUT_S = 2
READ_TIMEOUT_S = 5
ATTEMPTS = 3


def client_config(connections: int) -> Config:
    """Return the configuration of clients that up to `connections` threads use at the same time."""
    return Config(
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=READ_TIMEOUT_S,
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
        max_pool_connections=connections,
        # A frozen environment may wake up with a connection that the other side has closed.
        tcp_keepalive=True,
    )
