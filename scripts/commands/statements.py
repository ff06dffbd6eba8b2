"""Prints every statement of the migrations as SQL, for AWS's linter of what Aurora DSQL takes.

usage: python -m scripts.commands.statements
"""

from runtime.adapters.aws.migrations import all_statements

SCHEMA, ROLE, ROLE_ARN = "infinity", "infinity_slice", "arn:aws:iam::123456789012:role/slice"


def main() -> None:
    for statement in all_statements(SCHEMA, ROLE, ROLE_ARN):
        print(statement.strip().replace("%s", "$1") + ";")  # the linter knows PostgreSQL's own parameters only


if __name__ == "__main__":
    main()
