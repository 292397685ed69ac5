"""Checks an input while another thread is importing what this needs, and prints it."""

import sys
import threading
import time
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.agent.schema import read_input

begun = threading.Event()


class Pause(MetaPathFinder):
    """Holds the other thread's import, after its beginning, until the main thread waits for it."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if name != "jsonschema._format":
            return None
        spec = PathFinder.find_spec(name, path, target)
        assert spec is not None and spec.loader is not None
        run = spec.loader.exec_module

        def run_later(module: ModuleType) -> None:
            begun.set()
            while not waits_for_import():
                time.sleep(0.001)
            run(module)

        spec.loader.exec_module = run_later
        return spec


def waits_for_import() -> bool:
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    return frame is not None and frame.f_code.co_name == "acquire" and "importlib" in frame.f_code.co_filename


sys.meta_path.insert(0, Pause())
warm_up = threading.Thread(target=__import__, args=("jsonschema",))
warm_up.start()
begun.wait()
spec = ToolSpec("count", "", {"type": "object", "properties": {"n": {"type": "integer"}}})
print(read_input(spec, {"n": "5"}))
warm_up.join()
