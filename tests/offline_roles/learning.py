"""The least that the functions need, found out by trying: they begin with nothing, and get what they are refused."""

from dataclasses import dataclass, field

from scripts.commands.target import offline_target
from scripts.offline_stack.stack import OfflineStack
from tests.offline.outside import Outside
from tests.offline_roles.flow import Flow
from tests.offline_roles.rights import Decision, Right, Roles

ROUNDS = 10
# Longer than most waits of a message that is to be tried again, and shorter than the 5 minutes a signature is good for.
JUMP_S = 200
QUIET_ROUNDS = 3  # so often seen at rest, it is: a message may just be on its way from a queue to a function


@dataclass
class Learning:
    """`given` are the rights that were given so far, each after a function had been refused it."""

    stack: OfflineStack
    roles: Roles
    given: set[Right] = field(default_factory=set)
    seen: int = 0
    quiet: int = 0

    def learn(self) -> list[str]:
        """Take all rights away, then play until a whole round needs no more; return what did not come out in it."""
        self.seen = len(self.roles.decisions())
        self.roles.restrict_to(self.given)
        for _ in range(ROUNDS):
            known = len(self.given)
            unfinished = self._play()
            if len(self.given) == known and not unfinished:
                break
        return unfinished

    def _play(self) -> list[str]:
        flow = Flow(Outside(self.stack, offline_target(self.stack)))
        flow.play(meanwhile=lambda: self._help(flow))
        return flow.unfinished()

    def _help(self, flow: Flow) -> None:
        """Give what was refused since the last time. What waits to be tried again need not wait any longer then."""
        decisions = self.roles.decisions()
        refused = [decision for decision in decisions[self.seen :] if not decision.allowed]
        self.seen = len(decisions)
        if new := {self._right_for(decision) for decision in refused} - self.given:
            self.given |= new
            self.roles.restrict_to(self.given)
        self.quiet = self.quiet + 1 if flow.only_waits() and not new else 0
        if self.quiet >= QUIET_ROUNDS:
            self.stack.move_clock(JUMP_S)
            self.quiet = 0

    def _right_for(self, refused: Decision) -> Right:
        found = [right for right in self.roles.granted if refused.is_about(right)]
        assert found, f"a function needs what no role allows: {refused}"
        return found[0]
