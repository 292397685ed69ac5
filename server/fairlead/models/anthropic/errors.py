"""The errors of the Messages API and of the clouds that serve it, where they differ from those of other servers."""

from typing import Any

from fairlead.agent.errors import ModelError
from fairlead.json_values import is_object
from fairlead.models.anthropic import clouds
from fairlead.models.common.api_errors import ApiErrors
from fairlead.models.common.foreign import BASE_URL, OPENAI, is_openai
from fairlead.sentences import Sentence


class MessagesApiErrors(ApiErrors):
    """The errors of an endpoint with the Messages API."""

    @property
    def where(self) -> str:
        cloud = self.endpoint.cloud
        return self.endpoint.shown_url or (cloud.label if cloud else "the Anthropic API")

    def name_of(self, status: int, said: str, headers: Any) -> str | None:
        cloud = self.endpoint.cloud
        if cloud is None:
            return super().name_of(status, said, headers)
        return clouds.error_name(cloud, status, said, headers)

    def said(self, text: str) -> str:
        # the following lines from AWS contain the signed request with its token
        return text.partition("\n")[0] if self.endpoint.cloud is not None else text

    def advice(self, name: str) -> str | None:
        cloud = self.endpoint.cloud
        found = clouds.advice(cloud, name, self.endpoint.model, self.endpoint.shown_url) if cloud is not None else None
        return found or super().advice(name)

    def check_name(self) -> str:
        return self.check_network() if self.endpoint.cloud else super().check_name()

    def check_network(self) -> str:
        if self.endpoint.cloud is None:
            return super().check_network()
        return Sentence("Check the network and the region (setting cloud.region).")

    def of_invalid_request(self) -> ModelError | None:
        cloud = self.endpoint.cloud
        # the transport's error would quote the credentials
        return None if cloud is None else ModelError("auth", clouds.INVALID_CREDENTIALS.format(label=cloud.label))

    def in_event(self, event: dict[str, Any]) -> ModelError | None:
        """The error in a stream event, or for an event of OpenAI's API; None if it is an ordinary event."""
        if event.get("type") == "error" or ("type" not in event and "error" in event):
            error = event.get("error")
            return self.in_stream(error if is_object(error) else {"message": error})
        if is_openai(event):
            return ModelError("wrong_server", OPENAI.format(where=self.where, base_url=BASE_URL))
        return None
