"""Imports in the background what the first request to the model needs."""

import gc
import threading
from importlib import import_module

from fairlead.models.anthropic.messages_api import MessagesApiModel
from fairlead.models.common.http_model import certificates, load_sdk
from fairlead.models.common.prices import price_list


def start_warm_up() -> None:
    """Imports the modules that the first run needs, in a thread."""
    threading.Thread(target=_import_all, name="warm-up", daemon=True).start()


def _import_all() -> None:
    if certificates.cache_info().currsize:
        return  # this process was forked from one that had imported everything, as in the tests
    # `dataclass(slots=True)` creates each class twice; once the first copies are freed, the SDK can use their memory
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    price_list()
    load_sdk(MessagesApiModel.SDK)
    import_module("jsonschema")
    # modules stay in memory, and examining them in each collection would stall the event loop
    gc.freeze()
