"""Where history lives: an Aurora DSQL cluster of this stack, or one that exists already."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dsql_alpha as dsql
from constructs import Construct

from infra.config import DatabaseConfig


class Database(Construct):
    """The database's endpoint, and the ARN that grants are written against.

    `cluster_arn` is None only offline, where nobody checks a grant on the database. `environment` is what every
    function that connects needs to know.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, config: DatabaseConfig, removal_policy: RemovalPolicy
    ) -> None:
        super().__init__(scope, construct_id)
        self.endpoint: str
        self.cluster_arn: str | None
        if config.endpoint is None:
            retained = removal_policy == RemovalPolicy.RETAIN
            cluster = dsql.Cluster(self, "Cluster", deletion_protection=retained, removal_policy=removal_policy)
            self.endpoint, self.cluster_arn = cluster.cluster_endpoint, cluster.cluster_arn
        else:
            self.endpoint, self.cluster_arn = config.endpoint, config.cluster_arn
        self.environment = {
            "INFINITY_DSQL_ENDPOINT": self.endpoint,
            "INFINITY_DSQL_PORT": str(config.port),
            "INFINITY_DSQL_TLS": config.tls,
            "INFINITY_DSQL_SCHEMA": config.schema,
        }
