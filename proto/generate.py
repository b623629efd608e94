"""Write the stubs of proto/ into arena/v1: `python proto/generate.py`, or with `--into DIR` elsewhere.

Needs the `dev` extra. The pinned generator is the oldest that the supported runtimes go with, since stubs made by a newer
one are refused by an older runtime.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

PROTO = Path(__file__).resolve().parent
PACKAGE = "arena/v1"


def generate(into: Path) -> None:
    """Generate messages, service stubs and their types below `into`; raise SystemExit if the compiler refuses."""
    import grpc_tools
    from grpc_tools import protoc

    well_known = Path(grpc_tools.__file__).parent / "_proto"
    sources = sorted((PROTO / PACKAGE).glob("*.proto"))
    services = [path for path in sources if "\nservice " in path.read_text()]
    for outputs, paths in ((("python", "mypy"), sources), (("grpc_python", "mypy_grpc"), services)):
        names = [path.relative_to(PROTO).as_posix() for path in paths]
        arguments = ["protoc", f"-I{PROTO}", f"-I{well_known}", *(f"--{name}_out={into}" for name in outputs), *names]
        if protoc.main(arguments) != 0:
            raise SystemExit("protoc failed")
    (into / PACKAGE / "__init__.py").write_text('"""Generated from proto/arena/v1 by proto/generate.py: do not edit."""\n')


def main() -> None:
    """Read the command line and generate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=PROTO.parent, help="the folder that is to hold arena/v1")
    into = parser.parse_args().into.resolve()
    into.mkdir(parents=True, exist_ok=True)
    generate(into)
    print(f"wrote {into / PACKAGE}", file=sys.stderr)


if __name__ == "__main__":
    main()
