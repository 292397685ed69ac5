"""What the other side of the wire can answer instead of a result."""


class RequestError(Exception):
    """The other side answered a request with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
