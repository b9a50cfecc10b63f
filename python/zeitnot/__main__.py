"""Runs the program: `python -m zeitnot bench` is `zeitnot bench`."""

import os
import subprocess
import sys

from .client import program


def main() -> None:
    """Becomes the program. Windows has no such thing, so that there it is waited for."""
    command = [program(), *sys.argv[1:]]
    try:
        if os.name == "nt":
            sys.exit(subprocess.call(command))
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"the program {command[0]} cannot be started: {error.strerror}. Install it with this package, or beside it")


if __name__ == "__main__":
    main()
