"""Threads of a deployed stack that sleep, and what the timers behind them are."""

import json
import re
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import psycopg

from scripts.commands.messages import TextMessage
from tests.offline.outside import Outside

PATIENCE_S = 60.0
PAUSE_S = 0.1
MANY = 10_000
_KINDS = "SELECT thread_id, kind FROM infinity.entries WHERE thread_id = ANY(%s) ORDER BY thread_id, position"


class Sleepers:
    def __init__(self, outside: Outside) -> None:
        self.outside = outside
        self._scheduler = outside.stack.client("scheduler")

    def have_sleep(self, name: str, seconds: float) -> str:
        """Have a thread sleep, and return its id."""
        return self.have_call(name, "sleep", {"seconds": seconds})

    def have_call(self, name: str, tool: str, arguments: Mapping[str, object]) -> str:
        thread_id = name if name.startswith(self.outside.run) else f"{self.outside.run}-{name}"
        script = json.dumps([{"call": tool, "input": arguments}])
        self.say(f"Wait. [[script: {script}]]", thread_id)
        return thread_id

    def say(self, text: str, *thread_ids: str) -> None:
        for thread_id in thread_ids:
            self.outside.send(thread_id, TextMessage(thread_id, text).body)

    def kinds(self, thread_id: str) -> list[str]:
        return self._kinds([thread_id])[thread_id]

    def _kinds(self, thread_ids: Sequence[str]) -> defaultdict[str, list[str]]:
        found: defaultdict[str, list[str]] = defaultdict(list)
        with psycopg.connect(self.outside.stack.database_dsn) as connection:
            for thread_id, kind in connection.execute(_KINDS, (list(thread_ids),)):
                found[thread_id].append(kind)
        return found

    def results(self, thread_id: str) -> list[str]:
        return [entry.text for entry in self.outside.history(thread_id) if entry.kind == "tool_result"]

    def last_slept_s(self, thread_id: str) -> int:
        """Return how long the thread says it slept, without having been woken."""
        found = re.fullmatch(r"Slept for (\d+) s\.", self.results(thread_id)[-1])
        assert found is not None, self.results(thread_id)
        return int(found[1])

    def wait_until(self, kinds: Sequence[str], *thread_ids: str) -> None:
        """Wait until the histories of all these threads are of these kinds, and no function runs."""
        deadline = time.monotonic() + PATIENCE_S
        while waiting := [seen for seen in map(self._kinds(thread_ids).get, thread_ids) if seen != list(kinds)]:
            assert time.monotonic() < deadline, f"{len(waiting)} are not there, the first is at {waiting[0]}"
            time.sleep(PAUSE_S)
        self.outside.settle()

    def pass_time(self, seconds: float) -> None:
        self.outside.settle()
        self.outside.stack.move_clock(seconds)

    def schedules(self) -> dict[str, dict[str, Any]]:
        """Return the schedules of our threads, by the thread each of them wakes."""
        group = self._variables["INFINITY_SCHEDULE_GROUP"]
        # The emulator makes no further pages; but it makes one as long as it is asked for.
        listed = self._scheduler.list_schedules(GroupName=group, MaxResults=MANY)["Schedules"]
        names = [schedule["Name"] for schedule in listed]
        found = [schedule for name in names if (schedule := self._schedule(group, name))]
        by_thread = {json.loads(schedule["Target"]["Input"])["group_id"]: schedule for schedule in found}
        return {thread_id: one for thread_id, one in by_thread.items() if thread_id.startswith(self.outside.run)}

    def _schedule(self, group: str, name: str) -> dict[str, Any] | None:
        """Return a schedule that was just listed, nothing if it has gone off since."""
        try:
            return dict(self._scheduler.get_schedule(GroupName=group, Name=name))
        except self._scheduler.exceptions.ResourceNotFoundException:
            return None

    def timer_of(self, thread_id: str) -> str:
        """Return what the schedule of this thread will put on the timer queue."""
        timer: str = self.schedules()[thread_id]["Target"]["Input"]
        return timer

    def put_on_the_timer_queue(self, timer: str) -> None:
        url = self._variables["INFINITY_TIMER_QUEUE_URL"]
        self.outside.target.sqs.send_message(QueueUrl=url, MessageBody=timer)

    @cached_property
    def _variables(self) -> dict[str, str]:
        """What the deployed function is told."""
        function = self.outside.stack.outputs["SliceFunctionName"]
        configuration = self.outside.stack.client("lambda").get_function_configuration(FunctionName=function)
        return dict(configuration["Environment"]["Variables"])
