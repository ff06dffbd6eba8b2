"""Views, in memory and in DynamoDB."""

import pytest

from runtime.adapters.aws.dynamodb_choices import DynamoViews
from runtime.adapters.memory.choices import MemoryViews
from runtime.model.choices import View
from runtime.model.entries import PayloadRef
from runtime.ports import Views
from tests.support.clients import create_state_table, dynamodb_client
from tests.support.samples import THREAD


@pytest.fixture(params=["memory", "dynamodb"])
def views(request: pytest.FixtureRequest) -> Views:
    if request.param == "memory":
        return MemoryViews()
    client = dynamodb_client(request.getfixturevalue("aws_endpoint"))
    return DynamoViews(client, create_state_table(client))


def view(received_ms: int, content: str = "shown", view_type: str = "progress", thread_id: str = THREAD) -> View:
    return View(thread_id, view_type, content, received_ms)


def test_a_thread_nobody_has_shown_anything_for_has_no_views(views: Views) -> None:
    assert views.of_thread(THREAD) == ()


@pytest.mark.parametrize(
    "content", [{"b": 1, "a": [2.5, None, "é"]}, [1, "two"], "text", "", 1.5, 7, True, None, {}], ids=repr
)
def test_any_json_comes_back_as_it_was(views: Views, content: dict[str, object] | list[object] | str | None) -> None:
    shown = View(THREAD, "progress", content, 5)
    assert views.put(shown)

    [loaded] = views.of_thread(THREAD)

    assert loaded == shown
    assert repr(loaded.content) == repr(content)  # keys in their order, 1 apart from True


def test_content_by_reference_keeps_its_reference(views: Views) -> None:
    shown = View(THREAD, "progress", None, 5, PayloadRef("key", 500_000))
    views.put(shown)

    assert views.of_thread(THREAD) == (shown,)


def test_the_newest_of_each_type_is_kept(views: Views) -> None:
    assert views.put(view(5, "old"))
    assert views.put(view(6, "new"))
    assert views.put(view(1, "other", "files"))

    assert views.of_thread(THREAD) == (view(1, "other", "files"), view(6, "new"))


def test_a_view_that_comes_late_changes_nothing(views: Views) -> None:
    views.put(view(6, "new"))

    assert not views.put(view(5, "late"))

    assert views.of_thread(THREAD) == (view(6, "new"),)


def test_a_view_that_is_put_again_is_still_the_newest(views: Views) -> None:
    views.put(view(6))

    assert views.put(view(6))


def test_a_newer_view_leaves_nothing_of_the_one_before(views: Views) -> None:
    views.put(View(THREAD, "progress", None, 5, PayloadRef("key", 500_000)))
    views.put(view(6))

    assert views.of_thread(THREAD) == (view(6),)


def test_threads_do_not_see_each_others_views(views: Views) -> None:
    views.put(view(6))
    views.put(view(5, "theirs", thread_id="another"))

    assert views.of_thread("another") == (view(5, "theirs", thread_id="another"),)
    assert views.of_thread("anoth") == ()
