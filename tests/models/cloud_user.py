"""A user of a cloud: their environment, their credentials, and servers that run with them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.client import Client
from support.fake_api import Text, Turn
from support.fake_clouds import FakeBedrock, FakeCloud, FakeVertex

SONNET = "us.anthropic.claude-sonnet-5-5-20260901-v1:0"
DONE = Turn((Text("Done, 世界."),), chunk=3)
OTHERS = ("ANTHROPIC_", "AWS_", "GOOGLE_", "CLOUD", "GCLOUD_", "BOTO")
CLOUDS: list[Callable[..., FakeCloud]] = [FakeBedrock, FakeVertex]


class CloudUser:
    """Creates servers with this home folder, and with no cloud configuration except for the given variables."""

    def __init__(self, home: Path, workspace: Path) -> None:
        self.home, self.workspace = home, workspace

    def server(self, settings: dict[str, Any], **env: str) -> Client:
        client = Client(self.workspace, settings=settings)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(OTHERS)}
        # do not ask the metadata servers whether this machine is in a cloud
        nowhere = {"AWS_EC2_METADATA_DISABLED": "true", "NO_GCE_CHECK": "true"}
        client.env = {**kept, "HOME": str(self.home), "USERPROFILE": str(self.home), **nowhere, **env}
        return client

    def signed_in(self, api: FakeCloud, **env: str) -> Client:
        """A server with the settings and credentials that this cloud needs."""
        if isinstance(api, FakeVertex):
            settings = {
                "endpoint": "vertex",
                "model": "claude-sonnet-5-5@20260901",
                "baseUrl": f"{api.url}/v1",
            }
            where = {"region": api.REGION, "project": api.PROJECT}
            key = {"GOOGLE_APPLICATION_CREDENTIALS": str(api.key_file(self.home))}
        else:
            settings = {"endpoint": "bedrock", "model": SONNET, "baseUrl": api.url}
            where = {"region": FakeBedrock.REGION}
            key = {"AWS_ACCESS_KEY_ID": FakeBedrock.KEY, "AWS_SECRET_ACCESS_KEY": FakeBedrock.SECRET}
        return self.server({**settings, "cloud": where}, **{**key, "ANTHROPIC_API_KEY": "sk-of-the-api", **env})


async def failure(client: Client, **params: Any) -> dict[str, Any]:
    """The error that a run ends with."""
    result = await client.run(**params)
    assert result["stopReason"] == "error"
    return result["error"]


def cloud_settings(provider: str, **cloud: str) -> dict[str, Any]:
    where = {"region": None, "project": None, **cloud}
    return {"settings": {"endpoint": provider, "model": SONNET, "baseUrl": "http://127.0.0.1:9", "cloud": where}}
