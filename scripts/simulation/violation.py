"""A promise that was broken."""


class Violation(Exception):
    """`rule` names the promise, `detail` says where it broke."""

    def __init__(self, rule: str, detail: str) -> None:
        super().__init__(f"{rule}: {detail}")
        self.rule = rule
        self.detail = detail


def require(holds: object, rule: str, detail: str) -> None:
    if not holds:
        raise Violation(rule, detail)
