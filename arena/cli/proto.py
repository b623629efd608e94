"""`arena proto`: the protocol's files, from which any language's stubs are made."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import click

from arena.competitors import protocol_files
from arena.errors import BadInput


@click.command(
    epilog="""\b
Example:
  arena proto proto/"""
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def command(folder: Path) -> None:
    """Write the protocol's .proto files into DIR, to make stubs of in any language.

    A bot needs bot.proto and card.proto. Files of other contents are not overwritten.
    """
    source = protocol_files()
    names = sorted(path.relative_to(source) for path in source.rglob("*.proto"))
    try:
        for name in names:
            if (folder / name).exists() and (folder / name).read_bytes() != (source / name).read_bytes():
                raise BadInput(f"{folder / name} is there already, and different: choose another folder, or remove it")
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, folder / name)
    except OSError as error:
        raise BadInput(f"{error.filename}: this can't be written: {error.strerror}") from None
    for name in names:
        click.echo(str(folder / name))
    where = shlex.quote(str(folder))
    click.echo(f"stubs are made as in: protoc -I {where} --go_out=. {where}/arena/v1/bot.proto", err=True)
