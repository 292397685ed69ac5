"""A machine with an internet of one server, in namespaces: shows what a network permission reaches there.

Run it as `unshare --map-root-user --net python internet_world.py`. It prints a line for each address that is tried.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "server"))

from fairlead.shell.network import Network
from fairlead.shell.sandbox.box import kernel
from fairlead.shell.sandbox.box.network import OpenNetwork, open_network
from fairlead.shell.sandbox.layer.upper_layer import Owner

SERVER, PORT = "93.184.216.34", 443
MACHINE, ROUTER = "10.9.9.1", "10.9.9.2"


def main() -> None:
    is_made, is_ready = os.pipe(), os.pipe()
    internet = os.fork()
    if internet == 0:
        _be_the_internet(is_made[1], is_ready[0])
    os.read(is_made[0], 1)
    _ip("link set lo up", "link add v0 type veth peer name v1", f"link set v1 netns {internet}")
    _ip(f"addr add {MACHINE}/30 dev v0", "link set v0 up", f"route add default via {ROUTER}")
    with socket.create_server((MACHINE, PORT)), socket.create_server(("127.0.0.1", PORT)):
        os.write(is_ready[1], b"x")
        os.read(is_made[0], 1)
        network = open_network(Network(internet=True), Owner(0, 0))
        try:
            for host, port in (
                (SERVER, PORT),
                (SERVER, PORT + 1),
                (MACHINE, PORT),
                (ROUTER, PORT),
                ("127.0.0.1", PORT),
            ):
                print(host, port, _talk(network, host, port), flush=True)
        finally:
            network.close()
    os.kill(internet, 9)


def _be_the_internet(made: int, ready: int) -> None:
    kernel.unshare(kernel.CLONE_NEWNET)
    os.write(made, b"x")
    os.read(ready, 1)
    _ip("link set lo up", f"addr add {ROUTER}/30 dev v1", "link set v1 up", f"addr add {SERVER}/32 dev lo")
    with socket.create_server(("0.0.0.0", PORT)) as server:
        os.write(made, b"x")
        while True:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"got " + connection.recv(100))


def _talk(network: OpenNetwork, host: str, port: int) -> str:
    """What a process in a network gets from a server, or the error."""
    read, write = os.pipe()
    if os.fork() == 0:
        try:
            for namespace in network.namespaces:
                kernel.join(namespace)
            with socket.create_connection((host, port), 10) as connection:
                connection.sendall(b"hello")
                answer = connection.recv(100).decode()
        except OSError as error:
            answer = type(error).__name__
        os.write(write, answer.encode() or b"nothing")
        os._exit(0)
    answer = os.read(read, 100).decode()
    os.wait()
    return answer


def _ip(*commands: str) -> None:
    for command in commands:
        _run(["ip", *command.split()])


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True)


main()
