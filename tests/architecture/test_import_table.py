"""The import table: what each part may know of the others. The longest matching row holds."""

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.architecture.source import CODE, Module, is_within, modules

STDLIB = sys.stdlib_module_names | {"__future__"}
EVERYTHING = frozenset({"*"})

# The parts of `runtime` that touch the world. Its core may not know them: it is handed ports.
LOCAL = ("runtime.local", "runtime.local_tools")
EDGES = ("runtime.adapters", "runtime.wire", "runtime.wiring", *LOCAL)
BEYOND_WIRE = ("runtime.adapters", "runtime.wiring", *LOCAL)


@dataclass(frozen=True)
class Rule:
    """`ours`: packages of this project, `except_for` some; the longer name decides. `packages`: from elsewhere."""

    ours: tuple[str, ...]
    packages: frozenset[str] = frozenset()
    except_for: tuple[str, ...] = ()


def third_party(*names: str) -> frozenset[str]:
    return frozenset(names)


AWS = ("boto3", "botocore", "types_boto3")
RULES = {
    "runtime": Rule(("runtime", "runtime.wire.text"), except_for=EDGES),
    "runtime.model": Rule(("runtime.model",)),
    "runtime.errors": Rule(()),
    "runtime.ports": Rule(("runtime.model", "runtime.errors")),
    "runtime.tools": Rule(("runtime",), third_party("jsonschema", "referencing"), except_for=EDGES),
    "runtime.wire": Rule(("runtime",), third_party("pydantic"), except_for=("runtime.adapters", "runtime.wiring")),
    "runtime.settings": Rule(("runtime.model",), third_party("pydantic")),
    # Where bodies from outside become messages: the only places of the core that know the wire.
    "runtime.arrival": Rule(("runtime",), except_for=BEYOND_WIRE),
    "runtime.batch": Rule(("runtime",), except_for=BEYOND_WIRE),
    "runtime.callbacks": Rule(("runtime",), except_for=BEYOND_WIRE),
    "runtime.receive": Rule(("runtime",), except_for=BEYOND_WIRE),
    "runtime.tools.manifest": Rule(("runtime",), except_for=BEYOND_WIRE),
    "runtime.tools.schemas": Rule(("runtime",), third_party("jsonschema", "referencing"), except_for=BEYOND_WIRE),
    "runtime.wiring": Rule(("runtime",), third_party("boto3", "types_boto3")),
    "runtime.local": Rule(("runtime",)),
    "runtime.local_tools": Rule(("runtime",), except_for=("runtime.adapters", "runtime.wiring", "runtime.local")),
    "runtime.adapters": Rule(("runtime",), except_for=("runtime.adapters.aws", "runtime.adapters.http")),
    "runtime.adapters.memory": Rule(("runtime",), except_for=("runtime.adapters.aws", "runtime.adapters.http")),
    "runtime.adapters.http": Rule(("runtime",), third_party("httpcore"), except_for=("runtime.adapters.aws",)),
    "runtime.adapters.aws": Rule(("runtime",), third_party("psycopg", *AWS), except_for=("runtime.adapters.memory",)),
    "handlers": Rule(("runtime", "handlers"), third_party("aws_lambda_powertools", "pydantic", *AWS)),
    # A tool server knows nothing of the runtime.
    "handlers.rap_tools": Rule(("handlers.rap_tools",)),
    "handlers.example_tools": Rule(("handlers.rap_tools",)),
    "handlers.example_toolset": Rule(("handlers.example_tools", "handlers.rap_tools"), third_party("boto3")),
    "infra": Rule(("infra",), third_party("aws_cdk", "constructs", "cdk_nag", "jsii")),
    "app": Rule(("infra",), third_party("aws_cdk", "cdk_nag")),
    "scripts": Rule(("scripts", "runtime"), EVERYTHING),
    "scripts.bootstrap": Rule(()),
    "scripts.offline_stack": Rule(("scripts",), EVERYTHING),
    # The parts of the load test that decide: what is said when, and what is made of what was seen.
    "scripts.load_testing.plan": Rule(("scripts.commands.messages",)),
    "scripts.load_testing.ledger": Rule(
        ("scripts.load_testing.plan", "scripts.commands.outputs", "scripts.storming.aftermath")
    ),
    "scripts.load_testing.figures": Rule(("scripts.load_testing.ledger",)),
    "tests": Rule(("runtime", "handlers", "infra", "scripts", "tests", "app"), EVERYTHING),
}


def rule_of(module: str) -> Rule:
    return RULES[max((row for row in RULES if is_within(module, row)), key=len)]


def breaches(module: Module) -> list[str]:
    rule = rule_of(module.name)
    return [name for name in module.imports() if not _allowed(name, rule)]


def _allowed(name: str, rule: Rule) -> bool:
    top = name.partition(".")[0]
    if top in CODE or top == "app":
        return _closest(name, rule.ours) > _closest(name, rule.except_for)
    package = "types_boto3" if top.startswith("types_boto3") else top
    return package in STDLIB or rule.packages == EVERYTHING or package in rule.packages


def _closest(name: str, packages: tuple[str, ...]) -> int:
    return max((len(package) for package in packages if is_within(name, package)), default=0)


def test_every_module_imports_only_what_its_row_of_the_table_allows() -> None:
    assert {module.name: found for module in modules() if (found := breaches(module))} == {}


def test_every_row_of_the_table_has_a_module() -> None:
    names = [module.name for module in modules()]
    assert [row for row in RULES if not any(is_within(name, row) for name in names)] == []


@pytest.mark.parametrize(
    ("module", "statement"),
    [
        ("runtime.slice", "import boto3"),
        ("runtime.slice", "from runtime.adapters.aws import sqs"),
        ("runtime.model.entries", "from runtime import slice"),
        ("runtime.ports", "import pydantic"),
        ("runtime.wire.rows", "import psycopg"),
        ("runtime.callbacks", "import aws_lambda_powertools"),
        ("infra.stack", "from runtime import settings"),
        ("handlers.rap_tools.calls", "import boto3"),
        ("handlers.rap_tools.calls", "from handlers import logs"),
        ("scripts.bootstrap", "import rich"),
        ("scripts.load_testing.plan", "from scripts.load_testing import driving"),
        ("scripts.load_testing.ledger", "import boto3"),
        ("scripts.load_testing.figures", "from scripts.load_testing import sites"),
        ("scripts.offline_stack.poller", "from runtime.wire import messages"),
    ],
)
def test_an_import_across_a_border_is_seen(module: str, statement: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(f"def late() -> None:\n    {statement}\n")
    assert breaches(Module(module, path)) != []
