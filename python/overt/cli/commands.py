"""Which command runs."""

from overt.cli.flags import parse_serve

USAGE = """usage: overt COMMAND …

commands:
  serve [MODEL] [--flags]   serve a model over HTTP; `overt serve --help` lists the flags

options:
  -h, --help   this text
  --version    the installed version"""


def run(argv: list[str]) -> int:
    """Runs a command line. Returns the exit code."""
    import sys

    command = argv[0] if argv else "--help"
    match command:
        case "serve":
            config = parse_serve(argv[1:])
            from overt.cli.launch import serve

            return serve(config)
        case "-h" | "--help" | "help":
            print(USAGE)
            return 0
        case "--version":
            import overt

            print(overt.__version__)
            return 0
        case _:
            print(f"overt: there is no command {command!r}; there is: serve", file=sys.stderr)
            return 2
