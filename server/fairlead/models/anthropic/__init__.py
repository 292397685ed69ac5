"""The Messages API, at Anthropic, in the clouds and on local servers."""
