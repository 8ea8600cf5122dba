"""``python -m symlayout``: the command, for this interpreter's packages."""

from .cli import main

if __name__ == "__main__":
    main()
