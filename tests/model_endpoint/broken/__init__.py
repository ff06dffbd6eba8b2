"""One request for each way to be refused. Each breaks exactly one rule, so it passes when that rule is left out."""

from tests.model_endpoint.broken.cache_points import CACHE_POINTS
from tests.model_endpoint.broken.conversation import CONVERSATION
from tests.model_endpoint.broken.images import IMAGES
from tests.model_endpoint.broken.inference import INFERENCE
from tests.model_endpoint.broken.pairing import PAIRING
from tests.model_endpoint.broken.reasoning import REASONING
from tests.model_endpoint.broken.structure import STRUCTURE
from tests.model_endpoint.broken.tools import TOOLS

BROKEN_REQUESTS = (*STRUCTURE, *CONVERSATION, *TOOLS, *PAIRING, *CACHE_POINTS, *REASONING, *IMAGES, *INFERENCE)
