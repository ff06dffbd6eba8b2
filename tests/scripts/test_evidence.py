"""How the demo reads the logs of the offline stack."""

import json
from pathlib import Path

from scripts.demonstration.evidence import Invocation, StoredEntry, count_running, read_invocations, read_requests


def log(path: Path, *lines: dict[str, object], unfinished: str = "") -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + unfinished)
    return path


def line(what: str, time: float, request_id: str, function: str = "Slice-1", outcome: str = "ok") -> dict[str, object]:
    names = {"what": what, "time": time, "function": function, "request_id": request_id, "source": "sqs"}
    return {**names, "outcome": outcome, "cold": request_id == "cold"} if what == "closed" else names


def test_invocations_that_overlap_are_told_apart_by_their_request(tmp_path: Path) -> None:
    path = log(
        tmp_path / "invocations.jsonl",
        line("opened", 1.0, "a"),
        line("opened", 2.0, "b"),
        line("closed", 3.0, "b"),
        line("closed", 4.0, "a"),
        unfinished='{"what": "ope',
    )
    assert read_invocations(path, {"Slice-1": "slice"}, since=0) == [
        Invocation("slice", 1.0, 4.0, "sqs"),
        Invocation("slice", 2.0, 3.0, "sqs"),
    ]


def test_what_began_earlier_or_belongs_to_another_function_is_left_out(tmp_path: Path) -> None:
    path = log(
        tmp_path / "invocations.jsonl",
        line("opened", 1.0, "early"),
        line("opened", 2.0, "other", "Migrate-1"),
        line("closed", 3.0, "early"),
        line("closed", 3.0, "other", "Migrate-1"),
    )
    assert read_invocations(path, {"Slice-1": "slice"}, since=1.5) == []


def test_an_invocation_whose_process_died_is_known_as_failed(tmp_path: Path) -> None:
    path = log(tmp_path / "invocations.jsonl", line("opened", 1.0, "a"), line("closed", 2.0, "a", outcome="error"))
    assert [run.failed for run in read_invocations(path, {"Slice-1": "slice"}, since=0)] == [True]


def test_an_invocation_for_which_a_process_was_started_is_known_as_cold(tmp_path: Path) -> None:
    path = log(
        tmp_path / "invocations.jsonl",
        *(line(what, time, name) for name in ("cold", "warm") for what, time in (("opened", 1.0), ("closed", 2.0))),
    )
    assert [run.cold for run in read_invocations(path, {"Slice-1": "slice"}, since=0)] == [True, False]


def test_what_has_begun_and_not_ended_runs(tmp_path: Path) -> None:
    begun = (line("opened", 1.0, "a"), line("opened", 2.0, "b", "Other-1"))
    assert count_running(log(tmp_path / "one.jsonl", *begun)) == 2
    assert count_running(log(tmp_path / "two.jsonl", *begun, line("closed", 3.0, "a"))) == 1


def test_a_refused_request_of_the_model_is_known_as_such(tmp_path: Path) -> None:
    body = {"messages": [{"role": "user", "content": [{"text": "hello"}]}]}
    path = log(
        tmp_path / "model.jsonl",
        {"requested_at": 1.0, "responded_at": 1.1, "decision": {"refused_by": None}, "body": body},
        {"requested_at": 2.0, "responded_at": 2.1, "decision": {"refused_by": "roles alternate"}, "body": body},
    )
    assert [request.refused for request in read_requests(path, since=0)] == [False, True]
    assert [request.requested_at for request in read_requests(path, since=1.5)] == [2.0]


def test_the_text_of_an_entry_is_its_own_or_that_of_its_items() -> None:
    assert StoredEntry(1, "user", {"text": "hello"}).text == "hello"
    items: dict[str, object] = {
        "items": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
    }
    assert StoredEntry(2, "event", items).text == "a\nb"  # type: ignore[arg-type]
