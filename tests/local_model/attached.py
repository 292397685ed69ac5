"""Runs the command of its arguments until stdin ends, so that it never outlives the test that started it."""

import subprocess
import sys
import threading


def main() -> None:
    command = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)

    def end() -> None:
        sys.stdin.read()
        command.kill()

    threading.Thread(target=end, daemon=True).start()
    command.wait()


if __name__ == "__main__":
    main()
