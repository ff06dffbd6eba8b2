"""What a deployment keeps besides history: small state in DynamoDB, large payloads in S3, the token secret."""

import json
import string

from aws_cdk import Fn, RemovalPolicy, SecretValue, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct


class StateTable(Construct):
    """One table, `pk` and `sk`, for small state beside history: receipts, `performed`, manifests, choices, views."""

    def __init__(self, scope: Construct, construct_id: str, *, removal_policy: RemovalPolicy) -> None:
        super().__init__(scope, construct_id)
        self.table = dynamodb.Table(
            self,
            "Table",
            partition_key=dynamodb.Attribute(name="pk", type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name="sk", type=dynamodb.AttributeType.STRING),
            time_to_live_attribute="expires_at",
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            encryption=dynamodb.TableEncryption.DEFAULT,
            removal_policy=removal_policy,
        )


class PayloadBucket(Construct):
    """What is too large for a row or a queue message. Nothing expires: history refers to it for as long as it lives."""

    def __init__(self, scope: Construct, construct_id: str, *, removal_policy: RemovalPolicy) -> None:
        super().__init__(scope, construct_id)
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            removal_policy=removal_policy,
        )


class TokenSecret(Construct):
    """The keys that sign callback URLs and our own queue messages, as `{"keys": [{id, key, signs_from}]}`.

    CloudFormation can generate a secret only as a whole or as a top-level field. So the first key's material is a
    secret of its own, and the list of keys takes it in by a dynamic reference, which is resolved while deploying and
    stands in no template. Rotation adds keys to the list; a later deployment leaves the list alone, since its template
    did not change.
    """

    MATERIAL_LENGTH = 48  # letters and digits: 285 bits

    def __init__(self, scope: Construct, construct_id: str, *, removal_policy: RemovalPolicy) -> None:
        super().__init__(scope, construct_id)
        self.material = secretsmanager.Secret(
            self,
            "FirstKey",
            description="Material of the first signing key",
            generate_secret_string=secretsmanager.SecretStringGenerator(
                password_length=self.MATERIAL_LENGTH,
                exclude_punctuation=True,
                exclude_characters=string.punctuation + " ",
            ),
            removal_policy=removal_policy,
        )
        first_key = {"id": "k1", "key": self.material.secret_value.unsafe_unwrap(), "signs_from": 0}
        self.secret = secretsmanager.Secret(
            self,
            "Keys",
            description="Keys that sign callback URLs and internal messages",
            secret_string_value=SecretValue.unsafe_plain_text(json.dumps({"keys": [first_key]})),
            removal_policy=removal_policy,
        )

    @property
    def arn(self) -> str:
        """The full ARN. By attribute, not by `Ref`: a local AWS emulator answers a `Ref` with the name."""
        reference = Stack.of(self).resolve(self.secret.secret_arn)
        return Fn.get_att(reference["Ref"], "Id").to_string()
