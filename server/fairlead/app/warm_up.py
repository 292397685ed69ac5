"""Imports in the background what the first request to the model needs."""

import contextlib
import gc
import threading
from importlib import import_module

from fairlead.http_client import certificates
from fairlead.models.common.endpoint import Api
from fairlead.models.common.http_model import load_sdk
from fairlead.models.factory import model_class


def start_warm_up(api: Api | None) -> None:
    """Imports the modules that the first run needs, in a thread.

    Args:
        api: of the chosen endpoint; None if it is not known yet.
    """
    threading.Thread(target=_import_all, args=(api,), name="warm-up", daemon=True).start()


def _import_all(api: Api | None) -> None:
    if certificates.cache_info().currsize:
        return  # this process was forked from one that had imported everything, as in the tests
    # `dataclass(slots=True)` creates each class twice; once the first copies are freed, the SDK can use their memory
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    if api is not None:
        with contextlib.suppress(ImportError):  # the first run says what is missing
            load_sdk(model_class(api).SDK)
    for name in ("jsonschema", "watchfiles"):
        import_module(name)
    # modules stay in memory, and examining them in each collection would stall the event loop
    gc.freeze()
