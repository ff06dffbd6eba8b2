"""Where Aurora DSQL is, who we are there, and how to connect: a fresh token, verified TLS, bounded patience."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import botocore
import psycopg
from botocore.exceptions import BotoCoreError
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper

from runtime.errors import Misconfigured, Unavailable

logger = logging.getLogger(__name__)

Row = tuple[Any, ...]  # columns as psycopg converts them; what reads them knows their types

# libpq as psycopg ships it looks for the system's certificates where no system has them, so the roots are botocore's,
# which the AWS clients beside it trust as well. Direct negotiation saves a round trip (libpq 17 and newer).
_TLS: Mapping[str, Mapping[str, Any]] = {
    "verify-full": {
        "sslmode": "verify-full",
        "sslrootcert": str(Path(botocore.__file__).with_name("cacert.pem")),
        "sslnegotiation": "direct",
    },
    "off": {"sslmode": "disable"},
}
# A network that swallows everything must not hold a slice for longer than this.
_PATIENCE: Mapping[str, Any] = {
    "connect_timeout": 5,
    "tcp_user_timeout": 15_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "gssencmode": "disable",
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the database is and as whom to connect. `tls` is "off" only for a stand-in on this machine."""

    host: str
    user: str
    port: int = 5432
    tls: Literal["verify-full", "off"] = "verify-full"
    database: str = "postgres"


class TokenSigner(Protocol):
    """The part of boto3's client for DSQL that makes tokens, without any network."""

    def generate_db_connect_auth_token(self, Hostname: str) -> str: ...  # noqa: N803 - boto3's names

    def generate_db_connect_admin_auth_token(self, Hostname: str) -> str: ...  # noqa: N803 - as above


def token_source(signer: TokenSigner, endpoint: Endpoint) -> Callable[[], str]:
    """Return what makes a fresh token for each connection. It is asked for at connecting only, and lives 15 minutes."""
    if endpoint.user == "admin":
        return lambda: signer.generate_db_connect_admin_auth_token(Hostname=endpoint.host)
    return lambda: signer.generate_db_connect_auth_token(Hostname=endpoint.host)


def libpq_options(endpoint: Endpoint) -> dict[str, Any]:
    """Return the connection's options, by libpq's names, without the password."""
    return {
        "host": endpoint.host,
        "port": endpoint.port,
        "user": endpoint.user,
        "dbname": endpoint.database,
        **_TLS[endpoint.tls],
        **_PATIENCE,
    }


def connect(endpoint: Endpoint, token: Callable[[], str]) -> psycopg.Connection[Row]:
    """Return a new connection in autocommit mode.

    Raises:
        Misconfigured: there is nothing to sign a token with.
        Unavailable: anything else; a refused sign-in does not say that it is one.
    """
    try:
        connection = psycopg.connect(**libpq_options(endpoint), password=token(), autocommit=True)
    except BotoCoreError as error:
        raise Misconfigured("there are no credentials to sign in to the database with") from error
    except psycopg.Error as error:
        raise Unavailable("the database cannot be connected to") from error
    # One width for all numbers: a statement is prepared once per combination of parameter types.
    connection.adapters.register_dumper(int, Int8Dumper)
    connection.adapters.register_dumper(int, Int8BinaryDumper)
    logger.info("connected to the database", extra={"database_user": endpoint.user})
    return connection
