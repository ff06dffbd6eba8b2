"""Threads of a deployed stack that sleep, and what the timers behind them are."""

import json
import re
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from scripts.commands.messages import TextMessage
from tests.offline.outside import Outside

PATIENCE_S = 60.0
PAUSE_S = 0.1


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
        return [entry.kind for entry in self.outside.history(thread_id)]

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
        waiting = list(thread_ids)
        while waiting := [thread_id for thread_id in waiting if self.kinds(thread_id) != list(kinds)]:
            seen = self.kinds(waiting[0])
            assert time.monotonic() < deadline, f"{len(waiting)} are not there, the first is at {seen}"
            time.sleep(PAUSE_S)
        self.outside.settle()

    def pass_time(self, seconds: float) -> None:
        self.outside.settle()
        self.outside.stack.move_clock(seconds)

    def schedules(self) -> dict[str, dict[str, Any]]:
        """Return the schedules of our threads, by the thread each of them wakes."""
        group = self._variables["INFINITY_SCHEDULE_GROUP"]
        pages = self._scheduler.get_paginator("list_schedules").paginate(GroupName=group)
        names = [schedule["Name"] for page in pages for schedule in page["Schedules"]]
        found = [dict(self._scheduler.get_schedule(GroupName=group, Name=name)) for name in names]
        by_thread = {json.loads(schedule["Target"]["Input"])["group_id"]: schedule for schedule in found}
        return {thread_id: one for thread_id, one in by_thread.items() if thread_id.startswith(self.outside.run)}

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
