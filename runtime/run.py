"""What one attempt at a slice works with."""

from dataclasses import dataclass, field

from runtime.limits import Limits
from runtime.ports import Ports
from runtime.settings import Settings
from runtime.tools.offers import Offers


@dataclass(frozen=True, slots=True)
class Environment:
    """What lives as long as the process, one set per worker thread: the ports, the settings, the known tools."""

    ports: Ports
    settings: Settings
    offers: Offers


@dataclass(frozen=True, slots=True)
class Run:
    """An environment, the moment its time is over (epoch ms), and how often the queue has delivered these messages.

    `counted` gathers what is worth a metric; nothing is decided by it.
    """

    environment: Environment
    deadline_ms: int
    receive_count: int
    counted: list[str] = field(default_factory=list)

    @property
    def ports(self) -> Ports:
        return self.environment.ports

    @property
    def settings(self) -> Settings:
        return self.environment.settings

    @property
    def limits(self) -> Limits:
        settings = self.settings
        return Limits(
            item_chars=settings.shown_text_chars,
            message_bytes=settings.inline_bytes,
            thread_depth=settings.thread_depth,
            live_children=settings.live_children,
            live_subscriptions=settings.live_subscriptions,
            open_threads=settings.open_threads,
        )

    @property
    def remaining_s(self) -> float:
        return (self.deadline_ms - self.ports.clock.now_ms()) / 1000

    @property
    def may_complete(self) -> bool:
        """Whether enough time is left to begin a completion."""
        return self.remaining_s >= self.settings.completion_reserve_s
