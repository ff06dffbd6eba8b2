import boto3
import pytest
from botocore.credentials import Credentials
from botocore.exceptions import CredentialRetrievalError

from runtime.adapters.aws.signing import SigV4Signer
from runtime.errors import Misconfigured, RetryableError


def session() -> boto3.Session:
    return boto3.Session("AKIDEXAMPLE", "secret", "session-token", "eu-west-1")


@pytest.mark.parametrize(
    ("url", "sign_as", "scope"),
    [
        ("https://abc.lambda-url.us-east-2.on.aws/call", None, "/us-east-2/lambda/aws4_request"),
        ("https://abc.execute-api.ap-south-1.amazonaws.com/prod/call", None, "/ap-south-1/execute-api/aws4_request"),
        ("https://tools.example/call", "execute-api", "/eu-west-1/execute-api/aws4_request"),
        ("http://127.0.0.1:4566/_aws/lambda-url/abc/call", "lambda", "/eu-west-1/lambda/aws4_request"),
    ],
)
def test_a_request_is_signed_for_the_service_and_region_it_goes_to(url: str, sign_as: str | None, scope: str) -> None:
    headers = SigV4Signer(session()).sign("POST", url, {"Content-Type": "application/json"}, b"{}", sign_as)

    assert scope in headers["Authorization"]
    assert headers["X-Amz-Security-Token"] == "session-token"
    assert headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    "url", ["https://tools.example/call", "https://abc.lambda-url.us-east-2.on.aws.evil.example/call"]
)
def test_a_host_that_is_none_of_awss_gets_no_signature_unless_the_configuration_says_so(url: str) -> None:
    with pytest.raises(Misconfigured):
        SigV4Signer(session()).sign("POST", url, {}, b"{}", None)


def test_the_body_and_our_own_headers_are_part_of_what_is_signed() -> None:
    url, headers = "https://abc.lambda-url.us-east-2.on.aws/call", {"Idempotency-Key": "k"}

    signed = SigV4Signer(session()).sign("POST", url, headers, b"{}", None)
    other = SigV4Signer(session()).sign("POST", url, headers, b"{ }", None)

    assert "idempotency-key" in signed["Authorization"]
    assert signed["Authorization"] != other["Authorization"]


class Renewed(boto3.Session):
    """A session whose credentials are replaced while the process lives."""

    def __init__(self) -> None:
        super().__init__("AKIDFIRST", "secret", None, "eu-west-1")
        self.keys = iter(("AKIDFIRST", "AKIDSECOND"))

    def get_credentials(self) -> Credentials:
        return Credentials(next(self.keys), "secret")


class Without(boto3.Session):
    """A session that finds no credentials, or fails to fetch them."""

    def __init__(self, problem: Exception | None) -> None:
        super().__init__(region_name="eu-west-1")
        self.problem = problem

    def get_credentials(self) -> None:
        if self.problem:
            raise self.problem


@pytest.mark.parametrize("problem", [None, CredentialRetrievalError(provider="role", error_msg="timed out")])
def test_without_credentials_nothing_is_sent_and_a_person_or_time_must_help(problem: Exception | None) -> None:
    with pytest.raises(RetryableError):
        SigV4Signer(Without(problem)).sign("GET", "https://tools.example/", {}, b"", "lambda")


def test_credentials_are_those_of_the_moment_of_each_request() -> None:
    signer = SigV4Signer(Renewed())

    first, second = (signer.sign("GET", "https://tools.example/", {}, b"", "lambda") for _ in range(2))

    assert "AKIDFIRST" in first["Authorization"]
    assert "AKIDSECOND" in second["Authorization"]
