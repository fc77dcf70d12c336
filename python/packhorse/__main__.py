"""The command packhorse: `python -m packhorse`, or the console script of that name, becomes the program."""

import os
import sys

from ._program import program
from .errors import Error


def main() -> None:
    try:
        path = os.fspath(program())
        os.execv(path, ["packhorse", *sys.argv[1:]])
    except Error as error:
        sys.exit(f"packhorse: error: {error}")
    except OSError as error:
        sys.exit(f"packhorse: error: cannot start the program: {error.strerror}\n  where: {path}")


if __name__ == "__main__":
    main()
