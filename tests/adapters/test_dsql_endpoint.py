"""How we sign in to Aurora DSQL, as far as it can be seen without one."""

from pathlib import Path

import boto3
import pytest

from runtime.adapters.aws.dsql_endpoint import Endpoint, libpq_options, token_source


def test_tls_is_verified_to_the_name_against_roots_that_exist() -> None:
    options = libpq_options(Endpoint("cluster.dsql.eu-central-1.on.aws", "infinity_slice"))

    assert options["sslmode"] == "verify-full"
    assert options["sslnegotiation"] == "direct"
    assert "Amazon Root CA 1" in Path(options["sslrootcert"]).read_text()


@pytest.mark.parametrize(("user", "action"), [("infinity_slice", "DbConnect"), ("admin", "DbConnectAdmin")])
def test_a_token_is_signed_for_the_host_and_for_the_right_of_the_user(user: str, action: str) -> None:
    session = boto3.Session("AKIAEXAMPLE", "secret", region_name="eu-central-1")

    token = token_source(session.client("dsql"), Endpoint("cluster.example", user))()

    assert token.startswith("cluster.example/?")
    assert f"Action={action}&" in token
