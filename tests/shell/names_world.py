"""A machine whose names lead elsewhere while a process in a box runs.

Run it in namespaces of its own: `unshare --map-root-user --net --mount python names_world.py FOLDER`. It prints a line
for each connection that the process tries.
"""

import asyncio
import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("server", "tests"))

from fairlead.shell.layer import DEFAULT_LIMITS, View
from fairlead.shell.network import Network, Service
from fairlead.shell.sandbox.box import kernel
from fairlead.shell.services.process import ServiceProcess
from shell.boxes import find_sandbox

MACHINE, ROUTER, PRIVATE = "10.9.9.1", "10.9.9.2", "10.8.8.8"
FIRST, SECOND = "93.184.216.34", "93.184.216.35"
LINK = "169.254.169.254"
PORT, OTHER = 443, 8443
SHELL = ["bash", "-c", 'while read -r line; do eval "$line"; echo end; done 2>/dev/null']
ALLOWED = [("api.example.test", PORT), ("corp.example.test.", OTHER)]


def main() -> None:
    folder = Path(sys.argv[1])
    is_made, is_ready = os.pipe(), os.pipe()
    internet = os.fork()
    if internet == 0:
        be_the_internet(is_made[1], is_ready[0])
    os.read(is_made[0], 1)
    ip("link set lo up", "link add v0 type veth peer name v1", f"link set v1 netns {internet}")
    ip(f"addr add {MACHINE}/30 dev v0", "link set v0 up", f"route add default via {ROUTER}")
    hosts, resolver = folder / "hosts", folder / "resolv.conf"
    hosts.write_text(f"127.0.0.1 localhost\n{FIRST} other.example.test api.example.test  # now\n")
    resolver.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    for made, path in ((hosts, "/etc/hosts"), (resolver, "/etc/resolv.conf")):
        subprocess.run(["mount", "--bind", made, path], check=True)
    with ExitStack() as opened:
        for address in (MACHINE, "127.0.0.1"):
            opened.enter_context(socket.create_server((address, PORT)))
        os.write(is_ready[1], b"x")
        os.read(is_made[0], 1)
        asyncio.run(talk(folder, hosts))
    os.kill(internet, 9)


async def talk(folder: Path, hosts: Path) -> None:
    """Prints what the process gets from a name, for each of the addresses to which it leads one after the other."""

    def lead(names: dict[str, str]) -> None:
        hosts.write_text("127.0.0.1 localhost\n" + "".join(f"{each} {name}\n" for name, each in names.items()))

    for internet in (False, True):
        lead({"api.example.test": FIRST, "other.example.test": FIRST, "corp.example.test": PRIVATE})
        layer = await (await find_sandbox(folder / "ws", folder / "state", "unshare")).layer()
        network = Network(internet, frozenset(Service(*each) for each in ALLOWED))
        process = await ServiceProcess.start(SHELL, layer, folder / "ws", View(), DEFAULT_LIMITS, network=network)
        try:
            for name, port, address in tries():
                lead({"api.example.test": FIRST, "corp.example.test": PRIVATE, name: address})
                answer = await line(
                    process, f"timeout 10 bash -c 'exec 3<>/dev/tcp/{name}/{port}; echo hi >&3; cat <&3'"
                )
                print(internet, name, port, address, answer or "nothing", flush=True)
            names = await line(process, "getent ahosts api.example.test | cut -d' ' -f1 | sort -u")
            print(internet, "the address in the box is", names, flush=True)
        finally:
            assert process.process.stdin is not None
            process.process.stdin.close()
            await process.end()
            await layer.aclose()


def tries() -> Iterator[tuple[str, int, str]]:
    """Names with ports, and the addresses to which the names lead when they are tried."""
    for address in (FIRST, SECOND, FIRST, MACHINE, "127.0.0.1", LINK, PRIVATE, "0.0.0.0", SECOND):
        yield "api.example.test", PORT, address
    yield "api.example.test", OTHER, FIRST
    yield "other.example.test", PORT, FIRST
    for address in (PRIVATE, SECOND):
        yield "corp.example.test", OTHER, address


async def line(process: ServiceProcess, command: str) -> str:
    stdin, stdout = process.process.stdin, process.process.stdout
    assert stdin is not None
    assert stdout is not None
    stdin.write(f"{command}\n".encode())
    return " ".join((await stdout.readuntil(b"end\n")).decode().removesuffix("end\n").split())


def be_the_internet(made: int, ready: int) -> None:
    """A server at each address and port, which says its address."""
    kernel.unshare(kernel.CLONE_NEWNET)
    os.write(made, b"x")
    os.read(ready, 1)
    ip("link set lo up", f"addr add {ROUTER}/30 dev v1", "link set v1 up")
    for address in (FIRST, SECOND, PRIVATE, LINK):
        ip(f"addr add {address}/32 dev lo")
    servers = [socket.create_server(("0.0.0.0", port)) for port in (PORT, OTHER)]
    os.write(made, b"x")
    while True:
        for server in select.select(servers, [], [])[0]:
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                connection.sendall(f"{connection.getsockname()[0]}\n".encode())


def ip(*commands: str) -> None:
    for command in commands:
        subprocess.run(["ip", *command.split()], check=True)


main()
