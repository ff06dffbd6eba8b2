"""The receiver: the public address to which tools send their results."""

from collections.abc import Mapping

from aws_cdk import Fn
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.functions import FunctionDefaults, RuntimeFunction


class Receiver(Construct):
    """The receiver function and its Function URL.

    The URL is open to everyone: each callback's path carries a signed token, and the function checks it before it
    reads anything else. Anyone who may use the URL may also invoke the function through it, which Lambda has asked for
    since October 2025.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        defaults: FunctionDefaults,
        environment: Mapping[str, str],
        base_url: str | None,
        function_url_base: str | None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.receiver = RuntimeFunction(
            self,
            "Receiver",
            defaults=defaults,
            handler="handlers.receiver.handler",
            description="Takes callbacks of tools, checks their token and queues them",
            environment=environment,
            timeout_s=30,
            recursive_loop=lambda_.RecursiveLoop.ALLOW,
        )
        url = self.receiver.function.add_function_url(auth_type=lambda_.FunctionUrlAuthType.NONE)
        self.base_url = base_url or reachable(url, function_url_base)


def reachable(url: lambda_.FunctionUrl, function_url_base: str | None) -> str:
    """The address of a function URL, without a slash at its end.

    A local AWS emulator serves function URLs by path: `<function_url_base>/<id>`, the id being the first label of the
    URL's host.
    """
    host = host_of(url.url)
    if function_url_base is None:
        return f"https://{host}"
    return f"{function_url_base}/{Fn.select(0, Fn.split('.', host))}"


def host_of(url: str) -> str:
    """The host of a URL that is known only while deploying, with its port where it has one."""
    return Fn.select(2, Fn.split("/", url))
