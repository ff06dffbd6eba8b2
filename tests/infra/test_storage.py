"""The state table, the payload bucket, the token secret and the database."""

import json

from tests.infra.conftest import SynthesizeWith
from tests.infra.synthesized import Stack, points_to

KEPT = ("AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::SecretsManager::Secret", "AWS::DSQL::Cluster")


def test_the_state_table_is_keyed_by_pk_and_sk_and_forgets_by_expires_at(either: Stack) -> None:
    table = either.one("AWS::DynamoDB::Table")["Properties"]

    assert table["KeySchema"] == [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ]
    assert {item["AttributeType"] for item in table["AttributeDefinitions"]} == {"S"}
    assert table["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}


def test_the_state_table_is_paid_by_use_and_can_be_restored(either: Stack) -> None:
    table = either.one("AWS::DynamoDB::Table")["Properties"]

    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True


def test_payloads_never_expire_and_are_never_public(either: Stack) -> None:
    bucket = either.one("AWS::S3::Bucket")["Properties"]

    assert "LifecycleConfiguration" not in bucket
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    rules = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rules == [{"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]


def test_the_payload_bucket_refuses_plain_http(either: Stack) -> None:
    (statement,) = either.one("AWS::S3::BucketPolicy")["Properties"]["PolicyDocument"]["Statement"]

    assert statement["Effect"] == "Deny"
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_the_token_secret_starts_as_a_list_of_one_key_whose_material_stands_in_no_template(either: Stack) -> None:
    joined = either.one("AWS::SecretsManager::Secret", "Keys")["Properties"]["SecretString"]["Fn::Join"][1]
    text = "".join(part if isinstance(part, str) else "NAME" for part in joined)

    (key,) = json.loads(text)["keys"]
    assert key["id"] == "k1"
    assert key["signs_from"] == 0
    assert key["key"].startswith("{{resolve:secretsmanager:NAME:SecretString")


def test_the_first_keys_material_can_stand_in_json_as_it_is(either: Stack) -> None:
    generated = either.one("AWS::SecretsManager::Secret", "FirstKey")["Properties"]["GenerateSecretString"]

    assert generated["PasswordLength"] == 48
    assert {'"', "\\"} <= set(generated["ExcludeCharacters"])


def test_functions_and_outputs_name_the_token_secret_by_its_arn_not_by_its_name(either: Stack) -> None:
    named = [either.outputs["TokenSecretArn"]]
    named += [either.environment(handler)["INFINITY_TOKEN_SECRET_ARN"] for handler in ("slice", "receiver")]

    for value in named:
        assert value["Fn::GetAtt"][1] == "Id"


def test_a_cloud_deployment_brings_its_own_protected_cluster(cloud: Stack) -> None:
    cluster = cloud.one("AWS::DSQL::Cluster")["Properties"]

    assert cluster["DeletionProtectionEnabled"] is True
    assert points_to(cloud.environment("slice")["INFINITY_DSQL_ENDPOINT"], "DatabaseCluster")
    assert points_to(cloud.outputs["DatabaseEndpoint"], "DatabaseCluster")


def test_an_existing_database_is_used_when_it_is_named(synthesize_with: SynthesizeWith) -> None:
    arn = "arn:aws:dsql:eu-west-1:111122223333:cluster/given"
    stack = synthesize_with({"dsql_endpoint": "given.dsql.eu-west-1.on.aws", "dsql_cluster_arn": arn})

    assert stack.resources("AWS::DSQL::Cluster") == {}
    assert stack.environment("slice")["INFINITY_DSQL_ENDPOINT"] == "given.dsql.eu-west-1.on.aws"
    assert stack.outputs["DatabaseEndpoint"] == "given.dsql.eu-west-1.on.aws"
    assert stack.statement(stack.role_of("slice"), "dsql:DbConnect")["Resource"] == arn


def test_the_local_stack_makes_no_cluster(offline: Stack) -> None:
    assert offline.resources("AWS::DSQL::Cluster") == {}
    assert offline.environment("migrate")["INFINITY_DSQL_ENDPOINT"] == "127.0.0.1"


def test_what_a_deployment_remembers_outlives_its_stack(cloud: Stack) -> None:
    for kind in KEPT:
        for resource in cloud.resources(kind).values():
            assert resource["DeletionPolicy"] == "Retain"


def test_a_deployment_for_trying_out_leaves_nothing_behind(synthesize_with: SynthesizeWith, offline: Stack) -> None:
    for stack in (synthesize_with({"retain_state": "false"}), offline):
        for kind in KEPT:
            for resource in stack.resources(kind).values():
                assert resource["DeletionPolicy"] == "Delete"
