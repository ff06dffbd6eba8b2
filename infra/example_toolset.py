"""The example tool server: shows how a tool is attached, and lets a fresh deployment be tried out."""

from collections.abc import Mapping

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.functions import FunctionDefaults, RuntimeFunction
from infra.receiver import reachable


class ExampleToolset(Construct):
    """The toolset function and its Function URL, which asks for signed requests.

    A slow tool acknowledges at once and goes on in a second, asynchronous invocation of the same function, so it may
    invoke itself. That right is a policy of its own: in the role's default policy it would make the function wait for
    a policy that waits for the function.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        defaults: FunctionDefaults,
        environment: Mapping[str, str],
        function_url_base: str | None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.toolset = RuntimeFunction(
            self,
            "Toolset",
            defaults=defaults,
            handler="handlers.example_toolset.handler",
            description="An example tool server: the time, a slow build, events, a choice, a sign-in, a picture",
            environment={**environment, **_told_where_it_is(function_url_base)},
            timeout_s=300,
            memory_mb=256,
        )
        url = self.toolset.function.add_function_url(auth_type=lambda_.FunctionUrlAuthType.AWS_IAM)
        self.base_url = reachable(url, function_url_base)
        iam.Policy(
            self,
            "InvokesItself",
            roles=[self.toolset.role],
            statements=[
                iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=[self.toolset.function.function_arn])
            ],
        )


def _told_where_it_is(function_url_base: str | None) -> dict[str, str]:
    """What a function needs to know of its own address. In the cloud each request says it."""
    return {} if function_url_base is None else {"INFINITY_EXAMPLE_FUNCTION_URL_BASE": function_url_base}
