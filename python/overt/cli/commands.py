"""Which command runs."""

import sys

from overt.cli.flags import parse_serve

USAGE = """usage: overt COMMAND …

commands:
  serve [MODEL] [--flags]                  serve a model over HTTP; `overt serve --help` lists the flags
  capabilities [MODEL] [--json] [--flags]  what a server with these flags would do with each field of a request
  render MODEL [--messages FILE] [--diff MODEL]
                                           the prompt that a conversation makes, and where every part came from
  parse [FILE] [--tool-call-parser NAME] [--reasoning-parser NAME] [--tools FILE]
                                           what a parser makes of a model's output
  doctor [--host HOST] [--port PORT]       what keeps a server from running here

options:
  -h, --help   this text
  --version    the installed version"""


def run(argv: list[str]) -> int:
    """Runs a command line. Returns the exit code."""
    command = argv[0] if argv else "--help"
    match command:
        case "serve":
            config = parse_serve(argv[1:])
            from overt.cli.launch import serve

            return serve(config)
        case "capabilities":
            from overt.cli.capabilities import capabilities

            return capabilities(argv[1:])
        case "render":
            from overt.cli.render import render

            return render(argv[1:])
        case "parse":
            from overt.cli.parse import parse

            return parse(argv[1:])
        case "doctor":
            from overt.cli.doctor import doctor

            return doctor(argv[1:])
        case "-h" | "--help" | "help":
            print(USAGE)
            return 0
        case "--version":
            import overt

            print(overt.__version__)
            return 0
        case _:
            known = "serve, capabilities, render, parse, doctor"
            print(f"overt: there is no command {command!r}; there is: {known}", file=sys.stderr)
            return 2
