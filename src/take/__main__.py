"""Run the packaged project: `python -m take`."""

import sys
from pathlib import Path

from kedro.framework.cli.utils import find_run_command
from kedro.framework.project import configure_project


def main() -> None:
    """Run the command line of the installed package."""
    package = Path(__file__).parent.name
    configure_project(package)
    sys.exit(find_run_command(package)())


if __name__ == "__main__":
    main()
