"""What the boxes of a session reach (docs/sandbox.md): nothing, the internet, or single services."""

import asyncio
import contextlib
import ipaddress
import os
import shutil
import socket
import struct
import subprocess
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from fairlead.shell.network import NO_NETWORK, BadService, Network, Service, proxies, proxy_variables

if sys.platform != "linux":
    pytest.skip("the sandbox needs Linux", allow_module_level=True)

from fairlead.shell.sandbox.box import network as networks
from fairlead.shell.sandbox.box.names import Question, hosts_without
from fairlead.shell.sandbox.box.relay import Policy, is_public, local_networks
from fairlead.shell.sandbox.layer.upper_layer import Owner
from shell.boxes import PLAIN, Boxes, boxes, start

INTERNET = Network(internet=True)
OWNER = 65432  # a user whom nobody has


@contextlib.asynccontextmanager
async def answering(host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[int]:
    """A server of the machine that answers each line with `got` and the line. Yields its port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            writer.write(b"got " + await reader.readline())
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, host, port) as server:
        yield server.sockets[0].getsockname()[1]


def talk(host: str, port: int) -> str:
    """A command that sends a line and prints the answer."""
    return f"exec 3<>/dev/tcp/{host}/{port} && echo hello >&3 && cat <&3"


async def test_a_service_is_reached_and_nothing_next_to_it(box: Boxes) -> None:
    """docs/faults.md 192: what the permission names is reached, by this command only."""
    async with answering() as allowed, answering() as other:
        network = Network(services=frozenset({Service("localhost", allowed)}))
        assert await box.output(talk("127.0.0.1", allowed), network=network) == "got hello\n"
        assert (await box.run(talk("127.0.0.1", other), network=network)).code != 0
        for others in (NO_NETWORK, INTERNET):
            assert (await box.run(talk("127.0.0.1", allowed), network=others)).code != 0


@pytest.mark.parametrize(
    "uid", [os.geteuid(), pytest.param(65534, marks=pytest.mark.skipif(os.geteuid() != 0, reason="needs root"))]
)
async def test_a_network_of_any_account(box: Boxes, uid: int) -> None:
    """Root's commands run as the workspace's owner, who may not be able to read Python's files. One of the services is
    at the port of name servers, at which the relay listens too.
    """
    async with answering() as port:
        services = frozenset({Service("localhost", port), Service("localhost", 53), Service("name.invalid", 1)})
        opened = await asyncio.to_thread(networks.open_network, Network(services=services), Owner(uid, uid))
        try:
            user, net = (f"/proc/self/fd/{descriptor}" for descriptor in opened.namespaces)
            join = ["nsenter", "--preserve-credentials", f"--user={user}", f"--net={net}"]
            process = await asyncio.create_subprocess_exec(
                *(*join, "bash", "-c", talk("127.0.0.1", port)), stdout=PIPE, pass_fds=opened.namespaces
            )
            assert (await process.communicate())[0] == b"got hello\n"
        finally:
            opened.close()


async def test_a_service_at_another_address(box: Boxes) -> None:
    """Another address of this machine stands for a server in the local network."""
    addresses = [
        str(each.address)
        for found in psutil.net_if_addrs().values()
        for each in found
        if each.family == socket.AF_INET and not each.address.startswith("127.")
    ]
    if not addresses:
        pytest.skip("this machine has no other address")
    async with answering(addresses[0]) as port:
        command = talk(addresses[0], port)
        for network in (INTERNET, Network(internet=True, services=frozenset({Service(addresses[0], port)}))):
            ran = await box.run(command, PLAIN, network=network)
            assert (ran.code == 0) == bool(network.services), ran.output


@pytest.mark.parametrize("host", ["127.0.0.1", "10.1.2.3", "192.168.1.1", "169.254.169.254", "100.64.0.1"])
async def test_the_internet_is_not_this_machine_or_its_surroundings(box: Boxes, host: str) -> None:
    """docs/faults.md 192: no byte arrives, and the command learns it at once."""
    ran = await box.run(talk(host, 443), network=INTERNET)
    assert ran.code != 0
    assert "got" not in ran.output


def test_the_internet_is_reached() -> None:
    """In a world with a server at a public address; nothing else answers in it, although a server listens there."""
    shown = in_a_world("internet_world.py")
    first, *others = [line.split(" ", 2)[2] for line in shown]
    assert first == "got hello"
    assert len(others) == 4
    assert all("got" not in other for other in others), others


async def test_services_of_the_settings_are_reached_by_every_command(workspace: Path, tmp_path: Path) -> None:
    """Also by checks, which request nothing."""
    async with answering() as port, boxes(workspace, tmp_path / "state", services=[Service("localhost", port)]) as box:
        assert await box.output(talk("127.0.0.1", port)) == "got hello\n"


async def test_root_reaches_a_service_for_the_owner_of_the_workspace(workspace: Path, tmp_path: Path) -> None:
    """docs/faults.md 197: also if the owner may not read root's Python."""
    if os.geteuid() != 0:
        pytest.skip("only root may switch to another user")
    os.chown(workspace, OWNER, OWNER)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(folder.stat().st_mode | 0o711)
    async with answering() as port, boxes(workspace, tmp_path / "state") as box:
        network = Network(services=frozenset({Service("localhost", port)}))
        assert await box.output(f"id -u; {talk('127.0.0.1', port)}", network=network) == f"{OWNER}\ngot hello\n"


async def test_boxes_with_the_same_permission_share_their_network(box: Boxes) -> None:
    """One reaches the servers that another runs in the background."""
    code = "import socket; s = socket.create_server(('127.0.0.1', 4321)); s.accept()[0].sendall(b'mine')"
    opened = await box.layer.open(f'python3 -c "{code}"', PLAIN, network=INTERNET, background=True)
    process = await start(opened)
    reach = "until exec 3<>/dev/tcp/127.0.0.1/4321; do sleep 0.05; done 2>/dev/null; cat <&3"
    try:
        assert await box.output(reach, network=INTERNET) == "mine"
    finally:
        await process.wait()
        await opened.close()


async def test_names_are_looked_up_by_the_machine(box: Boxes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question for a name server gets the answer of the machine's, whatever its address is."""
    question = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with question:
        try:
            question.bind(("127.0.0.77", 53))
        except OSError:
            pytest.skip("only root may be a name server")
        question.setblocking(False)
        settings = tmp_path / "resolv.conf"
        settings.write_text("search example.test\nnameserver 127.0.0.77\n")
        monkeypatch.setattr(networks, "_RESOLV_CONF", settings)

        async def answer() -> None:
            loop = asyncio.get_running_loop()
            data, sender = await loop.sock_recvfrom(question, 512)
            await loop.sock_sendto(question, b"answer to " + data, sender)

        answering_task = asyncio.ensure_future(answer())
        code = "import socket; s = socket.socket(type=2); s.sendto(b'q', ('127.0.0.1', 53)); print(s.recv(99).decode())"
        ran = await box.run(f'cat /etc/resolv.conf; python3 -c "{code}"', network=INTERNET)
        await answering_task
        assert ran.output == "nameserver 127.0.0.1\nsearch example.test\nanswer to q\n"


async def test_a_program_has_an_address_to_ask_for_names(box: Boxes) -> None:
    """docs/faults.md 197: one that asks only for addresses of a kind that it has itself (AI_ADDRCONFIG)."""
    checked = "python3 -c \"import socket; s = socket.socket(type=2); s.bind(('192.0.0.8', 0)); print(1)\""
    assert await box.output(checked, network=INTERNET) == "1\n"


async def test_the_relay_ends_with_the_layer(workspace: Path, tmp_path: Path) -> None:
    """No process is left."""
    async with boxes(workspace, tmp_path / "state") as box:
        await box.output("true", network=INTERNET)
        relays = [each for each in psutil.Process().children() if "box.relay" in " ".join(each.cmdline())]
        assert len(relays) == 1
    assert not relays[0].is_running()


async def test_a_relay_that_ended_is_started_again(box: Boxes) -> None:
    """docs/faults.md 197: the machine may have run out of memory. The session's next command has its network."""
    async with answering() as port:
        network = Network(services=frozenset({Service("localhost", port)}))
        for _ in range(2):
            assert await box.output(talk("127.0.0.1", port), network=network) == "got hello\n"
            for each in psutil.Process().children():
                if "box.relay" in " ".join(each.cmdline()):
                    each.kill()
                    await asyncio.to_thread(each.wait)


def in_a_world(program: str, *arguments: str) -> list[str]:
    """The lines that a program of this folder prints in a network of its own. Skips the test if there can be none."""
    can_have_one = shutil.which("ip") and shutil.which("unshare")
    if (
        not can_have_one
        or subprocess.run(["unshare", "-rn", "ip", "link", "add", "type", "veth"], check=False).returncode
    ):
        pytest.skip("this machine cannot have a network of its own")
    command = ["unshare", "-rnm", sys.executable, str(Path(__file__).with_name(program)), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=100).stdout.splitlines()


def test_a_name_is_looked_up_for_each_connection(tmp_path: Path) -> None:
    """docs/faults.md 306: the addresses of a host change while a process runs, and it reaches each of them. The
    owner of the name decides them. So none is this machine or its link, or in its networks unless it was so at first.
    """
    (tmp_path / "ws").mkdir()
    found = dict[str, list[str]]()
    for line in in_a_world("names_world.py", str(tmp_path)):
        internet, *words = line.split()
        found.setdefault(internet, []).append(" ".join(words))
    first, second, private = "93.184.216.34", "93.184.216.35", "10.8.8.8"
    reached = [f"api.example.test 443 {each} {each}" for each in (first, second, first)]
    refused = ["10.9.9.1", "127.0.0.1", "169.254.169.254", private, "0.0.0.0"]
    expected = [
        *reached,
        *(f"api.example.test 443 {each} nothing" for each in refused),
        f"api.example.test 443 {second} {second}",
        f"api.example.test 8443 {first} nothing",
        f"other.example.test 443 {first} nothing",
        f"corp.example.test 8443 {private} {private}",
        f"corp.example.test 8443 {second} {second}",
        "the address in the box is 198.18.0.1",
    ]
    assert found["False"] == expected
    expected[expected.index(f"other.example.test 443 {first} nothing")] = f"other.example.test 443 {first} {first}"
    assert found["True"] == expected


ASK = """
import socket, struct
for stream in (False, True):
    for name, kind in (("API.example.test", 1), ("api.example.test", 28), ("c2VjcmV0.example.test", 1)):
        labels = b"".join(bytes([len(each)]) + each for each in name.encode().split(b".")) + bytes(1)
        question = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + labels + struct.pack(">HH", kind, 1)
        with socket.socket(type=socket.SOCK_STREAM if stream else socket.SOCK_DGRAM) as s:
            s.connect(("127.0.0.1", 53))
            s.sendall(len(question).to_bytes(2, "big") + question if stream else question)
            answer = s.recv(999)[2 * stream:]
            code, count = struct.unpack_from(">HHHH", answer)[1] & 15, struct.unpack_from(">HHHH", answer)[3]
            print(name, kind, stream, code, count, socket.inet_ntoa(answer[-4:]) if count else "")
"""


async def test_other_names_are_not_asked_for(box: Boxes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/faults.md 307: without the internet, a question for another name would carry what it contains to
    whoever has that name. Both ways to ask get an answer, and no name server is there.
    """
    settings = tmp_path / "resolv.conf"
    settings.write_text("nameserver 203.0.113.1\n")
    monkeypatch.setattr(networks, "_RESOLV_CONF", settings)
    network = Network(services=frozenset({Service("api.example.test", 443)}))
    answers = (await box.output(f"python3 - <<'END'\n{ASK}END", network=network)).splitlines()
    assert answers == [
        each
        for stream in (False, True)
        for each in (
            f"API.example.test 1 {stream} 0 1 198.18.0.1",
            f"api.example.test 28 {stream} 0 0 ",
            f"c2VjcmV0.example.test 1 {stream} 3 0 ",
        )
    ]


@pytest.mark.parametrize("size", [*range(34), 100])
def test_a_question_that_is_none(size: int) -> None:
    """Nothing else than one whole question is answered."""
    message = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"\3api\7example\4test\0" + struct.pack(">HH", 1, 1)
    assert len(message) == 34
    assert Question.parse(message) == Question(7, 0x100, "api.example.test", 1, message[12:])
    assert Question.parse(message[:size] if size < len(message) else message[:2] + b"\x81" + message[3:]) is None
    for wrong in (b"\x00\x07\x29", b"\x00\x07\x01\x00\x00\x02"):  # another operation, two questions
        assert Question.parse(wrong + message[len(wrong) :]) is None


def test_a_file_of_hosts_without_some_names() -> None:
    """Everything else in it stays."""
    text = (
        "# mine\n127.0.0.1 localhost\n10.0.0.1\tAPI.example.test db # x\n10.0.0.2 api.example.test.\n\n10.0.0.3 dbx\n"
    )
    expected = "# mine\n127.0.0.1 localhost\n10.0.0.1 db\n\n10.0.0.3 dbx\n"
    assert hosts_without(text, {"api.example.test": "198.18.0.1"}) == expected
    assert hosts_without(text, {}) == text


@pytest.mark.parametrize("odd", ["[fe80::1]:80", "127.0.0.1:53", "240.0.0.1:80", "name.invalid:53"])
@pytest.mark.parametrize("internet", [False, True])
async def test_an_odd_service_does_not_keep_others_away(box: Boxes, odd: str, *, internet: bool) -> None:
    """docs/faults.md 197: one that no socket can stand for, or that is the relay's own."""
    async with answering() as port:
        services = {Service.parse(odd), Service("localhost", port), Service("name.invalid", port)}
        network = Network(internet, frozenset(services))
        assert await box.output(talk("127.0.0.1", port), network=network) == "got hello\n"


def test_networks_that_this_machine_reaches_through_a_vpn(tmp_path: Path) -> None:
    """docs/faults.md 196: they are its surroundings, whatever their addresses are."""
    routes = tmp_path / "route"
    lines = ["Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT"]
    for interface, to, gateway, mask in (
        ("eth0", "0.0.0.0", "203.0.113.1", "0.0.0.0"),
        ("eth0", "93.184.216.0", "0.0.0.0", "255.255.255.0"),
        ("eth0", "151.101.0.0", "203.0.113.1", "255.255.0.0"),
        ("tun0", "131.107.0.0", "10.8.0.1", "255.255.0.0"),
        ("wg0", "0.0.0.0", "0.0.0.0", "128.0.0.0"),
    ):
        numbers = [f"{int.from_bytes(socket.inet_aton(text), sys.byteorder):08X}" for text in (to, gateway, mask)]
        lines.append(f"{interface} {numbers[0]} {numbers[1]} 0001 0 0 0 {numbers[2]} 0 0 0")
    routes.write_text("\n".join(lines) + "\n")
    local = list(local_networks(routes))
    assert {ipaddress.ip_network(each) for each in ("93.184.216.0/24", "131.107.0.0/16")} <= {*local}
    assert not is_public("131.107.1.1", local)
    assert is_public("151.101.1.1", local)
    assert is_public("8.8.8.8", local)


PUBLIC = "1.1.1.1 8.8.8.8 93.184.216.34 172.32.0.1 100.128.0.1 192.0.3.1 198.20.0.1 2606:4700::1111 2001:4860::8888"
NOT_PUBLIC = """
0.0.0.0 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.9.9.9 169.254.169.254 172.16.0.1 172.31.255.1
168.63.129.16
192.0.0.1 192.0.2.1 192.168.0.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
:: ::1 ::ffff:127.0.0.1 ::7f00:1 64:ff9b::7f00:1 64:ff9b::a00:1 64:ff9b:1::1 100::1 2001::1 2001:db8::1 2002:7f00:1::
3fff::1 fc00::1 fd12:3456::1 fe80::1 fec0::1 ff02::1
"""


def test_which_addresses_are_public() -> None:
    """docs/faults.md 192: those of the internet, without those that lead to this machine or its surroundings."""
    for host in (*PUBLIC.split(), "64:ff9b::101:101"):
        assert is_public(host), host
    for host in NOT_PUBLIC.split():
        assert not is_public(host), host


def test_the_networks_of_the_machine_are_not_the_internet() -> None:
    """docs/faults.md 192: even if their addresses are public, as in a university; so are its own addresses."""
    local = list(local_networks())
    assert ipaddress.ip_network("127.0.0.0/8") in local
    policy = Policy(internet=True, services=(), local=[ipaddress.ip_network("93.184.216.0/24")])
    assert not policy.allows("93.184.216.34", 443)
    assert policy.allows("93.184.217.34", 443)
    assert not Policy(internet=False, services=()).allows("93.184.217.34", 443)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("localhost:5432", "localhost", 5432),
        ("LocalHost:5432", "localhost", 5432),
        ("[::1]:80", "::1", 80),
        ("db.example.test:1", "db.example.test", 1),
        ("10.0.0.1:65535", "10.0.0.1", 65535),
    ],
)
def test_a_service_is_a_host_and_a_port(text: str, host: str, port: int) -> None:
    """What `Service.parse` accepts. The text of a service is parsed again to the same."""
    assert Service.parse(text) == Service(host, port) == Service.parse(str(Service(host, port)))


NOT_SERVICES = """
localhost :80 localhost: localhost:0 localhost:65536 localhost:http -x:1 http://localhost:80 user@host:1 [localhost]:1
::1:80 *:80 a/b:1 a..b:1 2130706433:1 127.1:1 0:1 0x7f000001:1 a.1:1 127.0.0.1.:1 0.0.0.0:1 [::]:1 255.255.255.255:1
224.0.0.1:1 [ff02::1]:1 [::ffff:127.0.0.1]:1 [::127.0.0.1]:1
"""


@pytest.mark.parametrize("text", ["", "a b:1", "localhost:80\nx:1", *NOT_SERVICES.split()])
def test_anything_else_is_an_error_that_says_what_to_write(text: str) -> None:
    """A permission must name one service."""
    with pytest.raises(BadService, match="Write host:port"):
        Service.parse(text)


def test_proxies_of_the_environment() -> None:
    """A command with the internet gets them, but no password."""
    environment = {
        "HTTP_PROXY": "http://proxy.test:3128",
        "https_proxy": "127.0.0.1:7890",
        "ALL_PROXY": "socks5h://[::1]",
        "no_proxy": "localhost",
        "HTTPS_PROXY": "http://user:password@proxy.test:3128",
        "PROXY": "other",
    }
    assert proxy_variables(environment).keys() == {"HTTP_PROXY", "https_proxy", "ALL_PROXY", "no_proxy"}
    assert {*map(str, proxies(environment))} == {"proxy.test:3128", "127.0.0.1:7890", "[::1]:1080"}
