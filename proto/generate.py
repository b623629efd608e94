"""Write the stubs of proto/ into arena/v1: `python proto/generate.py`, or with `--into DIR` elsewhere.

Needs the `dev` extra. The pinned generator is the oldest that the supported runtimes go with, since stubs made by a newer
one are refused by an older runtime.

With `--language go` or `--language node` it writes those of the sample bots in that language instead, below
sample_bots/go or sample_bots/node. That also needs Go or npm, which fetch the pinned plugins of protoc.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from os import environ
from pathlib import Path

PROTO = Path(__file__).resolve().parent
PACKAGE = "arena/v1"
BOT_SOURCES = (f"{PACKAGE}/bot.proto", f"{PACKAGE}/card.proto")

GO_PLUGINS = {
    "go": "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12",
    "go-grpc": "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
}
GO_MODULE = "bots/careful"
GO_OPTIONS = ",".join([f"module={GO_MODULE}", *(f"M{name}={GO_MODULE}/arenav1" for name in BOT_SOURCES)])

NODE_PLUGIN = "ts-proto@2.18.0"
NODE_OPTIONS = (
    "outputServices=grpc-js,outputClientImpl=false,outputJsonMethods=false,outputPartialMethods=false,"
    "esModuleInterop=true,forceLong=bigint,importSuffix=.js,removeEnumPrefix=true,unrecognizedEnum=false"
)


def compile_protos(arguments: Sequence[str]) -> None:
    """Run protoc with the protos in reach; raise SystemExit if it refuses."""
    import grpc_tools
    from grpc_tools import protoc

    well_known = Path(grpc_tools.__file__).parent / "_proto"
    if protoc.main(["protoc", f"-I{PROTO}", f"-I{well_known}", *arguments]) != 0:
        raise SystemExit("protoc failed")


def generate_python(into: Path) -> None:
    """Generate messages, service stubs and their types below `into`."""
    sources = sorted((PROTO / PACKAGE).glob("*.proto"))
    services = [path for path in sources if "\nservice " in path.read_text()]
    for outputs, paths in ((("python", "mypy"), sources), (("grpc_python", "mypy_grpc"), services)):
        names = [path.relative_to(PROTO).as_posix() for path in paths]
        compile_protos([*(f"--{name}_out={into}" for name in outputs), *names])
    (into / PACKAGE / "__init__.py").write_text(
        '"""Generated from proto/arena/v1 by proto/generate.py: do not edit."""\n'
    )


def generate_go(into: Path) -> None:
    """Generate the package arenav1 below `into`."""
    with tempfile.TemporaryDirectory() as tools:
        for plugin, package in GO_PLUGINS.items():
            subprocess.run(["go", "install", package], check=True, env={**environ, "GOBIN": tools})
            compile_protos(
                [
                    f"--plugin=protoc-gen-{plugin}={tools}/protoc-gen-{plugin}",
                    f"--{plugin}_out={into}",
                    f"--{plugin}_opt={GO_OPTIONS}",
                    *BOT_SOURCES,
                ]
            )


def generate_node(into: Path) -> None:
    """Generate TypeScript modules below `into`/src."""
    (into / "src").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as tools:
        subprocess.run(["npm", "install", "--silent", "--prefix", tools, NODE_PLUGIN], check=True, cwd=tools)
        compile_protos(
            [
                f"--plugin=protoc-gen-ts_proto={tools}/node_modules/.bin/protoc-gen-ts_proto",
                f"--ts_proto_out={into / 'src'}",
                f"--ts_proto_opt={NODE_OPTIONS}",
                *BOT_SOURCES,
            ]
        )


LANGUAGES: Mapping[str, tuple[Callable[[Path], None], Path]] = {
    "python": (generate_python, PROTO.parent),
    "go": (generate_go, PROTO.parent / "sample_bots" / "go"),
    "node": (generate_node, PROTO.parent / "sample_bots" / "node"),
}
"""How stubs are generated, and where they lie."""


def main() -> None:
    """Read the command line and generate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--language", choices=LANGUAGES, default="python", help="whose stubs to write")
    parser.add_argument(
        "--into", type=Path, help="the folder to write below, instead of the one where they are committed"
    )
    arguments = parser.parse_args()
    generate, home = LANGUAGES[arguments.language]
    into = (arguments.into or home).resolve()
    into.mkdir(parents=True, exist_ok=True)
    generate(into)
    print(f"wrote the stubs for {arguments.language} below {into}", file=sys.stderr)


if __name__ == "__main__":
    main()
