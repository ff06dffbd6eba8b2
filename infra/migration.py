"""The migration: brings the database's schema up to date while deploying."""

import json
from collections.abc import Mapping

from aws_cdk import CustomResource, Duration
from constructs import Construct

from infra.functions import FunctionDefaults, RuntimeFunction


class Migration(Construct):
    """The migration function, and the custom resource that runs it whenever our code changes.

    It runs as the database's admin, which no other function can become, and lets the slice's role connect as the
    slice's database user. It also checks the settings, which only the runtime knows: a deployment with a bad one fails,
    instead of functions that answer nobody; those of another version of the code, in a rollback, it lets pass.
    Running it again, also with older properties during a rollback, changes nothing.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        defaults: FunctionDefaults,
        environment: Mapping[str, str],
        slice_role_arn: str,
        database_user: str,
        settings: Mapping[str, str],
        timeout_s: int,
    ) -> None:
        super().__init__(scope, construct_id)
        self.migrate = RuntimeFunction(
            self,
            "Migrate",
            defaults=defaults,
            handler="handlers.migrate.handler",
            description="Brings the database's schema up to date while deploying",
            environment={**environment, "CODE_VERSION": defaults.code.version},
            timeout_s=timeout_s,
        )
        self.resource = CustomResource(
            self,
            "Schema",
            resource_type="Custom::InfinitySchema",
            service_token=self.migrate.function.function_arn,
            service_timeout=Duration.seconds(timeout_s),
            properties={
                "Version": defaults.code.version,
                "SliceRoleArn": slice_role_arn,
                "DatabaseRole": database_user,
                "Settings": json.dumps(settings, sort_keys=True),
            },
        )
        # The role's rights must be there before the resource runs, and stay until it is gone.
        self.resource.node.add_dependency(self.migrate.role)
