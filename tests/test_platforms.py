"""The server's modules on Windows, which the tests do not run on."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

MODULES = ["fcntl", "grp", "pwd", "resource", "termios", "tty"]
FUNCTIONS = [
    "chown",
    "fchmod",
    "fchown",
    "fork",
    "getegid",
    "geteuid",
    "getgid",
    "getuid",
    "killpg",
    "lchown",
    "memfd_create",
    "mkfifo",
    "mknod",
    "nice",
    "pidfd_open",
    "sched_getaffinity",
    "setpgid",
    "setsid",
    "statvfs",
    "sysconf",
    "uname",
    "O_CLOEXEC",
    "O_DIRECTORY",
    "O_NOFOLLOW",
    "O_NONBLOCK",
    "O_PATH",
    "WNOHANG",
]
SIGNALS = [
    "SIGCHLD",
    "SIGCONT",
    "SIGHUP",
    "SIGKILL",
    "SIGPIPE",
    "SIGQUIT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGWINCH",
    "pthread_sigmask",
    "sigtimedwait",
]
# The first import loads all other packages, which would notice the system; the second one is of our own modules alone.
SCRIPT = """
import importlib, json, os, pkgutil, signal, sys, types
import fairlead

modules, functions, signals = json.loads(sys.argv[1])
names = [found.name for found in pkgutil.walk_packages(fairlead.__path__, "fairlead.")]
names = [name for name in names if not name.endswith("__main__")]
for name in names:
    importlib.import_module(name)
for name in [name for name in sys.modules if name.startswith("fairlead")]:
    del sys.modules[name]
for holder, taken in ((os, functions), (signal, signals)):
    for name in filter(lambda name: hasattr(holder, name), taken):
        delattr(holder, name)
sys.modules.update(dict.fromkeys(modules), msvcrt=types.ModuleType("msvcrt"))
sys.platform = "win32"
for name in names:
    if not name.startswith(("fairlead.shell.sandbox", "fairlead.shell.reaper")):  # only for Linux
        importlib.import_module(name)
"""


def test_the_modules_can_be_imported_on_windows() -> None:
    """No module uses anything that Windows lacks while it is imported. Otherwise the server would not start there."""
    taken = json.dumps([MODULES, FUNCTIONS, SIGNALS])
    ended = subprocess.run([sys.executable, "-c", SCRIPT, taken], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
