"""Every setting of the runtime, with its default. Read once per environment from INFINITY_* variables."""

import ipaddress
import json
import logging
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from runtime.model.toolsets import ToolServer

logger = logging.getLogger(__name__)

PREFIX = "INFINITY_"


def _from_json(given: Any) -> Any:
    return json.loads(given) if isinstance(given, str) else given


def _network(given: str) -> str:
    return str(ipaddress.ip_network(given))


def _distinct(servers: tuple[ToolServer, ...]) -> tuple[ToolServer, ...]:
    if len({server.name for server in servers}) < len(servers):
        raise ValueError("every tool server has a name of its own")
    return servers


Networks = Annotated[tuple[Annotated[str, BeforeValidator(_network)], ...], BeforeValidator(_from_json)]


class Settings(BaseModel):
    """Frozen; unknown variables are ignored, with a warning; a bad value names the variable and never repeats it."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    # Where things are. Empty in local mode.
    input_queue_url: str = ""
    output_queue_url: str = ""
    timer_queue_url: str = ""
    timer_queue_arn: str = ""
    dead_letter_queue_url: str = ""
    state_table: str = ""
    payload_bucket: str = ""
    dsql_endpoint: str = ""
    dsql_port: int = 5432
    dsql_user: str = "infinity_slice"
    dsql_schema: str = Field(default="infinity", pattern=r"^[a-z_][a-z0-9_]{0,62}$")
    dsql_tls: Literal["verify-full", "off"] = "verify-full"
    token_secret_arn: str = ""
    schedule_group: str = ""
    scheduler_role_arn: str = ""
    scheduler_dlq_arn: str = ""
    receiver_url: str = ""
    tool_servers: Annotated[tuple[ToolServer, ...], BeforeValidator(_from_json), AfterValidator(_distinct)] = ()
    allowed_private_networks: Networks = ()

    # The model.
    model_id: str = "global.anthropic.claude-sonnet-4-6"
    model_thinking: Literal["off", "adaptive"] = "off"  # a fixed budget does not go with turns the runtime injects
    model_cache_points: int = Field(default=4, ge=0, le=4)
    model_images: bool | None = None  # whether it reads images; not set: as the model's id says, see `shows_images`
    model_stall_s: float = Field(default=120, gt=0)
    model_window_tokens: int = Field(default=200_000, ge=1_000)
    compaction_share: float = Field(default=0.75, gt=0, le=1)
    compaction_life_s: int = Field(default=3_600, ge=1)
    max_tokens: int = Field(default=8_192, ge=16)
    system_prompt: str = ""

    # Limits of one slice.
    visibility_s: int = Field(default=330, ge=1)
    worker_threads: int = Field(default=10, ge=1, le=10)
    completion_reserve_s: float = Field(default=90, ge=0)
    completions_per_slice: int = Field(default=8, ge=1)
    completions_per_input: int = Field(default=40, ge=1)
    tokens_per_day: int = Field(default=20_000_000, ge=1)
    thread_depth: int = Field(default=5, ge=0)
    live_children: int = Field(default=50, ge=0)
    live_subscriptions: int = Field(default=50, ge=0)
    open_threads: int = Field(default=1_000, ge=0)
    patience_receives: int = Field(default=7, ge=1)
    mark_from_receive: int = Field(default=3, ge=1)
    effect_patience_receives: int = Field(default=8, ge=1)
    deaths_before_withholding: int = Field(default=5, ge=1)
    give_ups: int = Field(default=8, ge=0)
    give_up_delay_s: int = Field(default=900, ge=1)

    # Sizes and lives.
    shown_text_chars: int = Field(default=100_000, ge=100)
    inline_bytes: int = Field(default=256 * 1024, ge=1_024)
    callback_body_limit_bytes: int = Field(default=4 * 1024 * 1024, ge=1_024)
    receipt_life_s: int = Field(default=60 * 86_400, ge=1)
    token_life_s: int = Field(default=400 * 86_400, ge=1)
    key_rest_s: int = Field(default=900, ge=0)
    manifest_refetch_s: int = Field(default=600, ge=0)
    manifest_life_s: int = Field(default=30 * 86_400, ge=1)
    timer_delay_limit_s: int = Field(default=900, ge=0, le=900)

    # Tool servers.
    http_connect_s: float = Field(default=3, gt=0)
    http_total_s: float = Field(default=10, gt=0)
    http_tries: int = Field(default=3, ge=1)

    @property
    def shows_images(self) -> bool:
        """Whether the model is sent images. Every model of Anthropic's reads them; another one is not known to.

        One that does not would refuse the whole request, so a doubt means no.
        """
        return "anthropic." in self.model_id if self.model_images is None else self.model_images

    @classmethod
    def check(cls, given: Mapping[str, str]) -> None:
        """Raise a ValueError that names every setting here which is unknown or has a bad value, never the value."""
        faults = [f"{name} is no setting" for name in sorted(given.keys() - cls.model_fields.keys())]
        try:
            cls.model_validate(given)
        except ValidationError as error:
            faults += [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
        if faults:
            raise ValueError("; ".join(faults))

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Read INFINITY_<NAME> for each setting. A variable that is empty counts as not set."""
        given = {
            name.removeprefix(PREFIX).lower(): value
            for name, value in environment.items()
            if name.startswith(PREFIX) and value
        }
        for name in sorted(given.keys() - cls.model_fields.keys()):
            logger.warning("setting unknown, so without effect", extra={"setting": name})
        return cls.model_validate(given)
