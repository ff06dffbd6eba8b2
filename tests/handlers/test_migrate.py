"""The migration function as CloudFormation calls it: a request in, an answer put to its URL."""

import json
import os
import threading
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import psycopg
import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext

from handlers import migrate
from handlers.migrate import Properties, handler, migrate_patiently
from runtime.adapters.aws.migrations import SCHEMA_VERSION
from runtime.adapters.memory.clock import ManualClock
from runtime.errors import Unavailable
from runtime.settings import Settings
from scripts.offline_stack.throwaway import DsnFactory
from tests.support.dsql import connection_to, endpoint_of
from tests.support.wire_counter import counting


@dataclass
class AnswerUrl:
    """Where CloudFormation waits. `failures`: so many answers are met with an error first."""

    url: str = ""
    failures: int = 0
    received: list[tuple[str | None, dict[str, Any]]] = field(default_factory=list)

    @property
    def answer(self) -> dict[str, Any]:
        [(_, answer)] = self.received
        return answer


@contextmanager
def answering() -> Iterator[AnswerUrl]:
    target = AnswerUrl()

    class Answering(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if target.failures:
                target.failures -= 1
                self.send_error(503)
                return
            target.received.append((self.headers["Content-Type"], json.loads(body)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        target.url = f"http://127.0.0.1:{server.server_port}/answer?signature=secret"
        yield target
        server.shutdown()


@pytest.fixture
def cloudformation() -> Iterator[AnswerUrl]:
    with answering() as target:
        yield target


@dataclass(frozen=True)
class Deployed:
    """A deployment's names: the database is the one every cluster has, so the test's own are a schema and a role."""

    dsn: str
    port: int
    schema: str
    role: str

    def versions(self) -> list[int]:
        with psycopg.connect(self.dsn) as connection:
            found = connection.execute(f"SELECT version FROM {self.schema}.schema_version ORDER BY 1")  # noqa: S608
            return [row[0] for row in found]

    def has_role(self) -> bool:
        with psycopg.connect(self.dsn) as connection:
            found = connection.execute(
                "SELECT 1 FROM pg_roles WHERE rolname = %s AND has_schema_privilege(oid, %s, 'USAGE')",
                (self.role, self.schema),
            )
            return found.fetchone() is not None

    def variables(self, port: int) -> dict[str, str]:
        return {
            "INFINITY_DSQL_ENDPOINT": "127.0.0.1",
            "INFINITY_DSQL_PORT": str(port),
            "INFINITY_DSQL_TLS": "off",
            "INFINITY_DSQL_SCHEMA": self.schema,
            "CODE_VERSION": "runtime-1",
            "AWS_DEFAULT_REGION": "eu-central-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }


@pytest.fixture
def deployed(fresh_dsn: DsnFactory) -> Deployed:
    port = endpoint_of(fresh_dsn()).port
    name = uuid.uuid4().hex
    return Deployed(f"host=127.0.0.1 port={port} user=admin dbname=postgres", port, f"schema_{name}", f"slice_{name}")


@contextmanager
def environment(variables: dict[str, str]) -> Iterator[None]:
    """The variables of the deployed function, for as long as it runs."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def called(deployed: Deployed, event: dict[str, Any], *, port: int | None = None) -> None:
    with environment(deployed.variables(port or deployed.port)):
        handler(event, LambdaContext())


def request(kind: str, url: str, **properties: str) -> dict[str, Any]:
    return {
        "RequestType": kind,
        "ResponseURL": url,
        "StackId": "arn:aws:cloudformation:eu-central-1:123456789012:stack/Infinity/guid",
        "RequestId": "request-1",
        "ResourceType": "Custom::InfinitySchema",
        "LogicalResourceId": "MigrationSchema",
        "ServiceToken": "arn:aws:lambda:eu-central-1:123456789012:function:migrate",
        "ResourceProperties": {"ServiceToken": "arn", "Version": "runtime-1", **properties},
    }


def test_a_creation_migrates_grants_and_answers_with_success(deployed: Deployed, cloudformation: AnswerUrl) -> None:
    called(deployed, request("Create", cloudformation.url, DatabaseRole=deployed.role, SliceRoleArn="arn:not:asked"))

    assert deployed.versions() == list(range(1, SCHEMA_VERSION + 1))
    assert deployed.has_role()
    assert cloudformation.answer == {
        "Status": "SUCCESS",
        "Reason": "the schema is up to date",
        "PhysicalResourceId": "infinity-schema",
        "StackId": "arn:aws:cloudformation:eu-central-1:123456789012:stack/Infinity/guid",
        "RequestId": "request-1",
        "LogicalResourceId": "MigrationSchema",
        "Data": {"SchemaVersion": str(SCHEMA_VERSION)},
    }


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ('{"max_tokenz": "1"}', "max_tokenz is no setting"),
        ('{"max_tokens": "lots"}', "max_tokens: Input should be a valid integer"),
    ],
)
def test_a_setting_the_runtime_does_not_take_fails_the_deployment_by_its_name(
    deployed: Deployed, cloudformation: AnswerUrl, settings: str, reason: str
) -> None:
    called(deployed, request("Create", cloudformation.url, DatabaseRole=deployed.role, Settings=settings))

    assert cloudformation.answer["Status"] == "FAILED"
    assert reason in cloudformation.answer["Reason"]
    assert "lots" not in cloudformation.answer["Reason"]


def test_settings_of_another_version_are_its_own_affair(deployed: Deployed, cloudformation: AnswerUrl) -> None:
    older = request("Update", cloudformation.url, DatabaseRole=deployed.role, Settings='{"max_tokenz": "1"}')
    older["ResourceProperties"]["Version"] = "runtime-0"
    called(deployed, older)

    assert cloudformation.answer["Status"] == "SUCCESS"


def test_the_answer_has_no_content_type_because_its_url_is_signed_without_one(
    deployed: Deployed, cloudformation: AnswerUrl
) -> None:
    called(deployed, request("Delete", cloudformation.url))
    assert [content_type for content_type, _ in cloudformation.received] == [""]


def test_being_called_again_with_older_properties_succeeds_and_changes_nothing(
    deployed: Deployed, cloudformation: AnswerUrl
) -> None:
    called(deployed, request("Create", cloudformation.url, DatabaseRole=deployed.role))
    older = {**request("Update", cloudformation.url, DatabaseRole=deployed.role), "OldResourceProperties": {}}
    older["ResourceProperties"]["Version"] = "runtime-0"
    called(deployed, older)

    assert [answer["Status"] for _, answer in cloudformation.received] == ["SUCCESS", "SUCCESS"]
    assert len({answer["PhysicalResourceId"] for _, answer in cloudformation.received}) == 1
    assert deployed.versions() == list(range(1, SCHEMA_VERSION + 1))


def test_a_deletion_leaves_history_where_it_is(deployed: Deployed, cloudformation: AnswerUrl) -> None:
    called(deployed, request("Create", cloudformation.url, DatabaseRole=deployed.role))
    cloudformation.received.clear()

    called(deployed, request("Delete", cloudformation.url))

    assert cloudformation.answer["Status"] == "SUCCESS"
    assert deployed.versions() == list(range(1, SCHEMA_VERSION + 1))


def test_a_deletion_needs_no_database(deployed: Deployed, cloudformation: AnswerUrl) -> None:
    with counting("127.0.0.1", deployed.port) as wire:
        called(deployed, request("Delete", cloudformation.url), port=wire.port)

    assert cloudformation.answer["Status"] == "SUCCESS"
    assert wire.connections == 0


def test_a_database_that_cannot_be_reached_fails_the_deployment_at_once_when_no_time_is_left(
    deployed: Deployed, cloudformation: AnswerUrl
) -> None:
    with counting("127.0.0.1", deployed.port) as wire:
        wire.refusals = 1
        called(deployed, request("Create", cloudformation.url), port=wire.port)

    assert cloudformation.answer["Status"] == "FAILED"
    assert cloudformation.answer["Reason"].startswith("Unavailable: ")


@pytest.mark.parametrize("role", ["", "admin; DROP", "Slice"])
def test_a_role_that_is_no_plain_name_fails_the_deployment_without_being_repeated(
    deployed: Deployed, cloudformation: AnswerUrl, role: str
) -> None:
    called(deployed, request("Create", cloudformation.url, DatabaseRole=role))

    assert cloudformation.answer["Status"] == "FAILED"
    assert "DatabaseRole" in cloudformation.answer["Reason"]
    assert "DROP" not in cloudformation.answer["Reason"]


def test_an_answer_that_is_not_taken_is_given_again(deployed: Deployed, cloudformation: AnswerUrl) -> None:
    cloudformation.failures = 2
    called(deployed, request("Delete", cloudformation.url))
    assert cloudformation.answer["Status"] == "SUCCESS"


def test_an_answer_that_is_never_taken_lets_lambda_call_again(deployed: Deployed, cloudformation: AnswerUrl) -> None:
    cloudformation.failures = 3
    with pytest.raises(OSError, match="503"):
        called(deployed, request("Delete", cloudformation.url))


def test_the_answers_url_is_never_logged(
    deployed: Deployed, cloudformation: AnswerUrl, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    called(deployed, request("Create", cloudformation.url, DatabaseRole=deployed.role))
    called(deployed, request("Create", cloudformation.url, DatabaseRole="no name"))

    logged = [str(vars(record)) for record in caplog.records]
    assert "schema is up to date" in caplog.text
    assert "schema not changed" in caplog.text
    assert not any("signature" in record for record in logged)


def test_rights_that_arrive_late_are_waited_for(deployed: Deployed) -> None:
    clock = ManualClock()
    settings = Settings.from_environment(deployed.variables(deployed.port))
    properties = Properties.model_validate({"DatabaseRole": deployed.role})
    with counting("127.0.0.1", deployed.port) as wire:
        wire.refusals = 5
        with closing(connection_to(deployed.dsn, port=wire.port, clock=clock)) as connection:
            migrate_patiently(connection, settings, properties, clock, time_left_s=570)

    assert deployed.versions() == list(range(1, SCHEMA_VERSION + 1))
    assert deployed.has_role()


def test_a_database_that_stays_away_is_given_up_before_the_function_ends(deployed: Deployed) -> None:
    clock = ManualClock()
    started_ms = clock.now_ms()
    settings = Settings.from_environment(deployed.variables(deployed.port))
    with counting("127.0.0.1", deployed.port) as wire:
        wire.refusals = 1_000
        unreachable = connection_to(deployed.dsn, port=wire.port, clock=clock)
        with closing(unreachable) as connection, pytest.raises(Unavailable):
            migrate_patiently(connection, settings, Properties.model_validate({}), clock, time_left_s=570)

    assert 100_000 < clock.now_ms() - started_ms <= 1000 * migrate.PATIENCE_S
