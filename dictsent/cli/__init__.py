"""The command line: parse, call the library, show. click and rich live here only."""


def main() -> None:
    """Run the command line."""
