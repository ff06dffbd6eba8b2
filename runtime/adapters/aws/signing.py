"""Signatures (SigV4) for tool servers behind a Lambda Function URL or an API Gateway."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import BotoCoreError, ClientError

from runtime.adapters.aws.errors import store_problem
from runtime.errors import Misconfigured

# <id>.lambda-url.<region>.on.aws and <id>.execute-api.<region>.amazonaws.com
_AWS_HOST = re.compile(
    r"[^.]+\.(?P<service>lambda-url|execute-api)\.(?P<region>[a-z0-9-]+)\.(?:on\.aws|amazonaws\.com)"
)
_SERVICES = {"lambda-url": "lambda", "execute-api": "execute-api"}


class SigV4Signer:
    """Signs as the role the process runs under. Safe to share between threads."""

    def __init__(self, session: boto3.Session | None = None) -> None:
        self._session = session or boto3.Session()

    def sign(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, sign_as: str | None
    ) -> Mapping[str, str]:
        """Return the headers with the signature. The URL is signed as it stands: it must be percent-encoded already.

        Raises:
            RetryableError: there are no credentials now.
            Misconfigured: the host is none of AWS's, and the configuration does not say that it stands for one.
        """
        service, region = self._scope(url, sign_as)
        request = AWSRequest(method=method, url=url, data=body, headers=dict(headers))
        SigV4Auth(self._credentials(), service, region).add_auth(request)
        return dict(request.headers.items())

    def _scope(self, url: str, sign_as: str | None) -> tuple[str, str]:
        """Return the service and region to sign for."""
        found = _AWS_HOST.fullmatch(urlsplit(url).hostname or "")
        if found is not None:
            return _SERVICES[found["service"]], found["region"]
        if sign_as is None:
            raise Misconfigured("a tool server asks for a signature, but its host is none of AWS's")
        return sign_as, self._session.region_name or "us-east-1"

    # botocore's own classes for credentials have no types.
    def _credentials(self) -> Any:
        """Return the credentials of this moment: those of a long-lived process are renewed behind the session."""
        try:
            credentials = self._session.get_credentials()
            frozen = credentials.get_frozen_credentials() if credentials else None
        except (BotoCoreError, ClientError) as error:
            raise store_problem(error) from error
        if frozen is None:
            raise Misconfigured("there are no AWS credentials to sign with")
        return frozen
