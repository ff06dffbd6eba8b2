"""What a text of the user asks a tool for: the time at a place, a build, a watch, a question back, a login."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from zoneinfo import available_timezones

from scripts.offline_stack.model_endpoint.document import JsonObject, JsonValue, as_array, as_object

_BUILD = re.compile(r"\bbuild\b\D{0,60}?(?P<seconds>\d+(?:\.\d+)?)", re.IGNORECASE)
_WATCH = re.compile(r"\bwatch\b\D{0,60}?(?P<events>\d+)(?:\D{0,40}?(?P<interval>\d+(?:\.\d+)?) s)?", re.IGNORECASE)
_ASK = re.compile(r"\bask me(?:,? (?:for|about|whether))?:? (?P<choices>[^.?!\n]+? or [^.?!\n]+)", re.IGNORECASE)
_LOGIN = re.compile(r"\b(?:log|sign) me in\b", re.IGNORECASE)
_TIME = re.compile(r"\b(?:what time|what's the time|time is it|the time|current time)\b", re.IGNORECASE)
_TIME_IN = re.compile(r"\btime\b[^.?!\n]*?\bin\s+(?P<place>[^\W\d][\w ,'/+-]*)", re.IGNORECASE)
_AFTER_PLACE = re.compile(r"(?:,|\s+(?:and|but|while|right|now|please|today|at|then)\b).*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wish:
    """A tool to call, and the value each possible parameter of it would get."""

    tool_name: str
    what: str
    values: Mapping[str, JsonValue]

    def arguments_json(self, schema: JsonValue) -> str:
        """Return the arguments as JSON text: for each parameter of the schema the value that goes by its name.

        A required parameter of another name gets the first value, so that a schema of other words is served too.
        """
        described = as_object(schema)
        arguments: JsonObject = {
            name: self.values[name] for name in as_object(described.get("properties")) if name in self.values
        }
        for name in as_array(described.get("required")):
            if isinstance(name, str):
                arguments.setdefault(name, next(iter(self.values.values())))
        return json.dumps(arguments, ensure_ascii=False)


def wish_in(text: str) -> Wish | None:
    """Return what the text asks for, nothing if it asks for no tool."""
    if build := _BUILD.search(text):
        seconds = float(build["seconds"])
        whole = int(seconds) if seconds.is_integer() else seconds
        return Wish("run_build", f"a build of {whole} seconds", {"seconds": whole})
    if watch := _WATCH.search(text):
        events, interval_s = int(watch["events"]), float(watch["interval"] or 1)
        return Wish("watch", f"a watch of {events} events", {"events": events, "interval_s": interval_s})
    if asked := _ASK.search(text):
        choices: list[JsonValue] = [
            choice.strip() for choice in re.split(r",| or ", asked["choices"]) if choice.strip()
        ]
        return Wish("ask", "a question", {"question": "Which one?", "choices": choices})
    if _LOGIN.search(text):
        return Wish("login", "a login", {"seconds": 2})
    if place := _TIME_IN.search(text):
        return _time_at(_AFTER_PLACE.sub("", place["place"]).strip())
    return _time_at("UTC") if _TIME.search(text) else None


def _time_at(place: str) -> Wish:
    zone = _zone_of(place)
    values: dict[str, JsonValue] = {"city": place, "place": place, "timezone": zone, "time_zone": zone, "zone": zone}
    return Wish("get_time", f"the time in {place}", values)


def _zone_of(place: str) -> str:
    """Return the zone named after the place (``Asia/Tokyo`` for Tokyo), the place itself if there is none."""
    wanted = place.replace(" ", "_").casefold()
    zones = sorted(available_timezones())
    return next((zone for zone in zones if wanted in (zone.casefold(), zone.casefold().rpartition("/")[2])), place)
