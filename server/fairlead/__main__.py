"""The composition root: `fairlead serve` and `fairlead run`."""

import gc
import sys

HELP = {"-h", "--help"}


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; returns the process's exit code.

    Slow imports are inside, so that Ctrl-C during an import also ends the process cleanly.
    """
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return 130


def _run(arguments: list[str] | None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["serve"] and not HELP.intersection(given):  # editors may add options such as `--stdio`
        gc.disable()  # until all is imported, because collections in between would take longer than the imports
        import asyncio  # noqa: PLC0415  at the top Ctrl-C would meet it before `main` can answer

        from fairlead.lsp.serve import serve  # noqa: PLC0415  the terminal's modules are no part of the server

        return asyncio.run(serve())
    from fairlead.cli.main import run_command_line  # noqa: PLC0415

    return run_command_line(given)


if __name__ == "__main__":
    sys.exit(main())
