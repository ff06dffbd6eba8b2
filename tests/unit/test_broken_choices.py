"""A choice that is said to be still open can still be made."""

from typing import Any

from runtime.errors import HandOverFailed
from tests.unit.test_choosing import Asking


def test_a_choice_that_could_not_be_passed_on_can_be_made_again() -> None:
    asking = Asking()
    servers = asking.world.ports.servers

    class Refusing:
        manifest = servers.manifest
        notify = servers.notify

        def invoke(self, _invocation: Any, _timeout_s: float) -> None:
            raise HandOverFailed("it answered 500")

    asking.world.put_in(servers=Refusing())
    asking.choose(2)
    outputs = list(asking.world.agent.outputs())
    asking.world.put_in(servers=servers)
    again = [output["choice_id"] for output in outputs if output["type"] == "user_choice_required"]
    asking.world.clock.advance(400)
    asking.world.agent.choose((again or [asking.choice_id])[0], 2)
    asking.world.settle()
    assert asking.told == [2]
