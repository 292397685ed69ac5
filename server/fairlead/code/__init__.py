"""Questions about the user's code, which the editor's language support or a language server answers."""
