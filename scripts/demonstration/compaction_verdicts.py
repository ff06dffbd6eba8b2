"""Whether a conversation outgrew its window without anybody noticing, judged from evidence alone."""

import json
from itertools import pairwise

from scripts.commands.outputs import Output
from scripts.demonstration.compaction_evidence import Compacted, blocks_of, texts_of
from scripts.demonstration.evidence import ModelRequest
from scripts.demonstration.verdicts import Check, Verdict, counted, model_saw_only_answered_calls

COMPACTIONS = 3


def judge_compaction(compacted: Compacted) -> Verdict:
    checks = [
        _answered_meanwhile(compacted),
        _came_into_use(compacted),
        _each_is_made_of_the_one_before(compacted),
        _stands_in_place(compacted),
        _told_in_spite_of_the_kill(compacted),
        _too_long_went_on(compacted),
        _child_sees_the_same(compacted),
        _reports_found_their_call(compacted),
        _same_prefix(compacted),
        _answers_sent_once(compacted),
        model_saw_only_answered_calls(compacted.evidence.requests, refusals=1),  # of the text that was too long
    ]
    return Verdict(checks, slices=len(compacted.evidence.of("slice")))


def _answered_meanwhile(compacted: Compacted) -> Check:
    promise = "the conversation was answered while its summary was written"
    began = [request.requested_at for request in compacted.summary_requests[:1]]
    ended = [output.sent_at for output in _own(compacted, "compacted")[:1]]
    answers = [output.sent_at for output in _own(compacted, "text")]
    meanwhile = [at for at in answers if began and ended and began[0] < at < ended[0]]
    return Check(promise, bool(meanwhile), counted(len(meanwhile), "answer"))


def _came_into_use(compacted: Compacted) -> Check:
    told = [output.fields.get("up_to") for output in _own(compacted, "compacted")]
    stored = [summary.up_to for summary in compacted.summaries if summary.state is not None]
    kept = told == stored == sorted(set(stored)) and len(stored) == COMPACTIONS
    seen = f"{len(stored)} in use, up to {', '.join(map(str, stored))}; told of {', '.join(map(str, told))}"
    return Check(f"{COMPACTIONS} summaries came into use, and each was told of", kept, seen)


def _each_is_made_of_the_one_before(compacted: Compacted) -> Check:
    requests, summaries = compacted.summary_requests, compacted.summaries
    built_on = sum(
        any(earlier.text in text for text in texts_of(request)[:1])
        for earlier, request in zip(summaries, requests[1:], strict=False)
    )
    kept = len(requests) == COMPACTIONS and built_on == COMPACTIONS - 1
    seen = f"{counted(len(requests), 'request')} for a summary, {built_on} of them begin with the one before"
    return Check("each summary was made of the one before and what followed", kept, seen)


def _stands_in_place(compacted: Compacted) -> Check:
    """The last request begins with the last summary and what was frozen with it, and holds no older one."""
    promise = "the last summary stands in place of what it is about, with the state of then"
    requests, summaries = compacted.own_requests, compacted.summaries
    if not requests or not summaries:
        return Check(promise, kept=False, seen="there is none")
    first, whole = texts_of(requests[-1])[0], json.dumps(requests[-1].messages, ensure_ascii=False)
    state = json.loads(summaries[-1].state or "{}")
    kept = summaries[-1].text in first and (summaries[-1].state or "none") in first
    kept = kept and state.get("thread_id") == compacted.thread_id and len(state.get("open_threads", [])) == 1
    older = sum(json.dumps(summary.text)[1:-1] in whole for summary in summaries[:-1])
    seen = f"{len(requests[-1].messages)} messages for {len(compacted.evidence.entries)} entries"
    return Check(promise, kept and not older, seen)


def _told_in_spite_of_the_kill(compacted: Compacted) -> Check:
    failed = sum(run.failed for run in compacted.evidence.of("slice"))
    kept = compacted.was_killed and failed == 1 and len(compacted.summary_requests) == COMPACTIONS
    promise = "a writer that was killed before it told of its summary is not asked again, and it is told of"
    seen = f"{counted(failed, 'invocation')} failed, {counted(len(compacted.summary_requests), 'summary request')}"
    return Check(promise, kept, seen)


def _too_long_went_on(compacted: Compacted) -> Check:
    """Refused once; the same text is in the next request of the conversation, and is answered."""
    requests = compacted.own_requests
    refused = [index for index, request in enumerate(requests) if request.refused]
    kept = len(refused) == 1 and texts_of(requests[refused[0]])[-1] == texts_of(requests[-1])[-1]
    kept = kept and refused[0] == len(requests) - 2 and compacted.evidence.entries[-1].kind == "assistant"
    errors = len([output for output in compacted.evidence.outputs if output.type == "error"])
    seen = f"{len(refused)} refused as too long, {counted(errors, 'error')} sent"
    return Check("a request that was too long was answered by itself behind a summary", kept and not errors, seen)


def _child_sees_the_same(compacted: Compacted) -> Check:
    requests = compacted.child_requests
    grew = [_begins_with(later, earlier) for earlier, later in pairwise(requests)]
    between = [request.requested_at for request in compacted.summary_requests]
    across = bool(requests) and any(requests[0].requested_at < at < requests[-1].requested_at for at in between)
    seen = f"{counted(len(requests), 'request')} of the child, before and after" if across else "none on both sides"
    return Check("a child from before sees the same bytes as ever", across and all(grew), seen)


def _reports_found_their_call(compacted: Compacted) -> Check:
    entries = compacted.evidence.entries
    spawned = {entry.body.get("call_id") for entry in entries if entry.body.get("name") == "spawn_thread"}
    reports = [entry for entry in entries if entry.body.get("source") == "report"]
    behind = [entry for entry in reports if compacted.summaries and entry.position > compacted.summaries[0].up_to]
    kept = len(spawned) == 1 and bool(behind) and {entry.body.get("call_id") for entry in reports} == spawned
    return Check("the child's reports find the call that a summary stands for", kept, f"{len(behind)} behind a summary")


def _same_prefix(compacted: Compacted) -> Check:
    """As long as no summary comes between, a request begins with the one before it; a summary's too."""
    own = compacted.own_requests
    cuts = sum(not _begins_with(later, earlier) for earlier, later in pairwise(own))
    of_summaries = sum(
        any(_begins_with_all_but_last(each, request) for request in own) for each in compacted.summary_requests
    )
    kept = bool(own) and cuts == COMPACTIONS and of_summaries == COMPACTIONS
    seen = f"{counted(len(own), 'request')}, {cuts} times another beginning"
    return Check("requests begin with the same bytes from turn to turn, and a summary's with its thread's", kept, seen)


def _begins_with(later: ModelRequest, earlier: ModelRequest) -> bool:
    start = list(blocks_of(earlier))
    return list(blocks_of(later))[: len(start)] == start


def _begins_with_all_but_last(summary_request: ModelRequest, request: ModelRequest) -> bool:
    shared = list(blocks_of(summary_request))[:-1]
    return list(blocks_of(request))[: len(shared)] == shared


def _answers_sent_once(compacted: Compacted) -> Check:
    """Of the conversation itself. Whoever else speaks on the queue is its child: a summary's writer says nothing."""
    stored = [entry.text for entry in compacted.evidence.entries if entry.kind == "assistant"]
    sent = [output.text_of("text") for output in _own(compacted, "text")]
    speakers = {output.thread_id for output in compacted.evidence.outputs}
    seen = f"{len(stored)} stored, {len(sent)} sent, {counted(len(speakers), 'thread')} heard"
    return Check("every answer was sent, once, in order", bool(sent) and sent == stored and len(speakers) == 2, seen)


def _own(compacted: Compacted, output_type: str) -> list[Output]:
    outputs = compacted.evidence.outputs
    return [output for output in outputs if output.type == output_type and not output.is_of_child]
