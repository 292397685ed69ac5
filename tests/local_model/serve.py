"""Runs llama.cpp's server in this process until stdin ends, so that it never outlives the test that started it.

The only argument is a JSON object: `model` (path), `port`, `template` (text of a chat template, "" for the model's
own), `endless` (whether the model never ends its turn), and `window` in tokens. `xllamacpp` must be on PYTHONPATH.
"""

import importlib
import json
import os
import sys
from typing import Any


def main() -> None:
    given = json.loads(sys.argv[1])
    llama: Any = importlib.import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = given["model"]
    params.hostnames = ["127.0.0.1"]
    params.port = given["port"]
    params.chat_template = given["template"]
    params.n_ctx = given["window"]
    params.use_jinja = True
    params.n_parallel = 1
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.sampling.temp = 0.0
    params.sampling.seed = 1
    params.sampling.ignore_eos = given["endless"]
    server = llama.Server(params)  # returns once the model is loaded, and serves in a thread of its own
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()
    del server
    os._exit(0)


if __name__ == "__main__":
    main()
