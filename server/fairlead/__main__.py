"""The entry point: `fairlead serve` runs the language server; any other arguments run the command line."""

import gc
import sys

HELP = {"-h", "--help"}


def main(arguments: list[str] | None = None) -> int:
    """Runs a command and returns the process's exit code.

    `arguments` are those after the program's name; None: as in `sys.argv`.

    Slow modules are imported during this call, so that Ctrl-C during an import also ends the process cleanly.
    """
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return 130


def _run(arguments: list[str] | None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["serve"] and not HELP.intersection(given):  # editors may add options such as `--stdio`
        gc.disable()  # until everything is imported (`serve` enables it): collections take longer than the imports
        import asyncio  # noqa: PLC0415  at the top of the file, `main` could not catch Ctrl-C during the import

        from fairlead.lsp.serve import serve  # noqa: PLC0415  only the server needs it

        return asyncio.run(serve())
    from fairlead.cli.main import run_command_line  # noqa: PLC0415

    return run_command_line(given)


if __name__ == "__main__":
    sys.exit(main())
