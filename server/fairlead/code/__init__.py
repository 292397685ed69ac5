"""What others know about the code: the editor's language support and language servers, and what the agent asks them."""
