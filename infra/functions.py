"""What every function of the deployment has in common: code, layers, a role of its own, a log group of its own."""

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.packages import PROJECT, Wheels, handlers_code, runtime_layer, third_party_layer

RETENTION = {
    1: logs.RetentionDays.ONE_DAY,
    7: logs.RetentionDays.ONE_WEEK,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
}


class FunctionCode(Construct):
    """The handlers, and the layers below them: our `runtime` package, and the third-party packages it needs.

    Offline the third-party layer is left out: its packages are installed beside the emulator, and unzipping them for
    each worker would cost more than everything else together. The `runtime` layer is the same everywhere.
    `version` changes whenever our code does.
    """

    def __init__(self, scope: Construct, construct_id: str, *, offline: bool) -> None:
        super().__init__(scope, construct_id)
        runtime = runtime_layer()
        self.version = runtime.name
        self.handlers = lambda_.Code.from_asset(str(handlers_code()))
        self.layers = [self._layer("Runtime", str(runtime))]
        if not offline:
            wheels = third_party_layer(Wheels(PROJECT / "runtime" / "requirements.txt"))
            self.layers.append(self._layer("ThirdParty", str(wheels)))

    def _layer(self, construct_id: str, folder: str) -> lambda_.LayerVersion:
        return lambda_.LayerVersion(
            self,
            construct_id,
            code=lambda_.Code.from_asset(folder),
            compatible_runtimes=[lambda_.Runtime.PYTHON_3_13],
            compatible_architectures=[lambda_.Architecture.ARM_64],
        )


@dataclass(frozen=True, slots=True)
class FunctionDefaults:
    """What all functions of one deployment share."""

    code: FunctionCode
    log_retention_days: int


class RuntimeFunction(Construct):
    """One Lambda function that runs one handler under a role of its own.

    The role starts with nothing but writing its own logs; whatever else it may do is granted in the stack.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        defaults: FunctionDefaults,
        handler: str,
        description: str,
        environment: Mapping[str, str],
        timeout_s: int,
        memory_mb: int = 512,
        recursive_loop: lambda_.RecursiveLoop | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.role = iam.Role(
            self, "Role", description=description, assumed_by=iam.ServicePrincipal("lambda.amazonaws.com")
        )
        self.logs = logs.LogGroup(
            self, "Logs", retention=RETENTION[defaults.log_retention_days], removal_policy=RemovalPolicy.DESTROY
        )
        self.logs.grant_write(self.role)
        self.function = lambda_.Function(
            self,
            "Function",
            description=description,
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=lambda_.Architecture.ARM_64,
            handler=handler,
            code=defaults.code.handlers,
            layers=defaults.code.layers,
            role=self.role,
            log_group=self.logs,
            environment=dict(environment),
            timeout=Duration.seconds(timeout_s),
            memory_size=memory_mb,
            recursive_loop=recursive_loop,
        )

    def allow(self, actions: list[str], resources: list[str], conditions: Mapping[str, object] | None = None) -> None:
        """Let this function's role do exactly these actions on exactly these resources."""
        self.role.add_to_policy(iam.PolicyStatement(actions=actions, resources=resources, conditions=conditions))
