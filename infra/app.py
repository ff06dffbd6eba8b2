"""The CDK app: reads the configuration, builds the stack, and attaches the rules it is checked against."""

from collections.abc import Mapping

from aws_cdk import App, Validations
from cdk_nag import AwsSolutionsChecks

from infra.config import DeployConfig
from infra.exceptions import exceptions
from infra.stack import InfinityStack

STACK_NAME = "Infinity"


def build(context: Mapping[str, object] | None = None, outdir: str | None = None) -> App:
    """The app with its one stack, ready to be synthesized.

    `context` is added to what the CDK itself was given; `outdir` is where the templates go when it is not the CDK that
    synthesizes.
    """
    app = App(context=context, outdir=outdir)
    stack = InfinityStack(app, STACK_NAME, config=DeployConfig.from_context(app.node.get_all_context()))
    for exception in exceptions(stack):
        exception.acknowledge()
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    return app
