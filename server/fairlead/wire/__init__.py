"""The names and shapes of the wire, from which `npm run wire` generates the client's types (docs/protocol.md)."""
