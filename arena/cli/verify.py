"""`arena verify`: whether all that is kept of a tournament follows from its seed, its settings and the rules."""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arena.cli.chosen_tournament import choose_tournament
from arena.cli.options import store_option
from arena.cli.output import print_json
from arena.errors import BadInput
from arena.text import clean_line

if TYPE_CHECKING:
    from arena.difference import Difference
    from arena.plan import Plan
    from arena.settings import Tournament
    from arena.store import Store
    from arena.verify import Verified

DIFFERENT = 1
"""The exit code where something is not as it must be."""

EXAMPLE = """\b
Examples:
  arena verify
  arena verify 3f9a --document result.json
  arena verify --commitment $COMMITMENT --json
"""


@click.command(epilog=EXAMPLE)
@click.argument("tournament", required=False)
@store_option
@click.option(
    "--commitment", metavar="HEX", help="The SHA-256 of the seed, as it was published before the first match."
)
@click.option(
    "--document",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What `arena tournament --json` or `arena leaderboard --json` printed: must be what the store gives now.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON, and nothing else on stdout.")
def command(tournament: str | None, store: str, commitment: str | None, document: Path | None, as_json: bool) -> int:
    """Deal, play and score a tournament again from what is kept of it, and say where the first difference is, if any.

    TOURNAMENT is an id or its beginning, the latest finished one if left out. The exit code is 1 where there is a
    difference. Of an unfinished tournament what was played is verified.
    """
    from arena.difference import Difference
    from arena.store import Store
    from arena.verify import verify_tournament

    printed = None if document is None else _read_document(document)
    if commitment is not None and (len(commitment) != 64 or commitment.strip("0123456789abcdefABCDEF")):
        raise BadInput(f"--commitment is 64 hexadecimal digits, not {commitment!r}: copy it whole")
    with Store.open(store, create=False) as opened:
        found = choose_tournament(opened, _named(tournament, printed))
        began = time.monotonic()
        try:
            verified = verify_tournament(opened, found, commitment=commitment, plan_of=partial(_plan, opened))
            if printed is not None:
                _compare(opened, found, printed)
        except Difference as difference:
            _tell_difference(found, difference, as_json=as_json)
            return DIFFERENT
    seconds = time.monotonic() - began
    if as_json:
        print_json(_as_values(found, verified, seconds, document=document is not None))
    else:
        click.echo("\n".join(_summary(found, verified, seconds, commitment=commitment, document=document)))
    return 0


def _plan(store: Store, tournament: Tournament) -> Plan:
    """Return the plan that a tournament's settings ask for, with as many boards to spend as it has spent."""
    from arena.plan import count_boards
    from arena.verdict import stored_plan

    return stored_plan(store, tournament, budget=count_boards(store.matches(tournament.id)))


def _read_document(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise BadInput(
            f"--document {path} can't be read: {why}; name a file with the output of `arena tournament --json`"
        ) from error
    if not isinstance(document, dict) or not isinstance(document.get("tournament"), str):
        raise BadInput(f"--document {path} is no leaderboard: name a file with the output of `arena tournament --json`")
    return document


def _named(tournament: str | None, printed: dict[str, Any] | None) -> str | None:
    """Return which tournament is meant: the document's where there is one."""
    if printed is None:
        return tournament
    named = str(printed["tournament"])
    if tournament is not None and not named.startswith(tournament):
        raise BadInput(f"the document is of tournament {named}, not {tournament}: leave one of them out")
    return named


def _compare(store: Store, tournament: Tournament, printed: dict[str, Any]) -> None:
    from arena.difference import Difference, compare_documents
    from arena.report import stored_document

    anchor = printed.get("anchor")
    try:
        kept = stored_document(store, tournament, anchor=anchor)
    except ValueError as error:
        raise Difference("`anchor` in the document", "a bot with results", anchor) from error
    compare_documents(printed, json.loads(json.dumps(kept)))


def _tell_difference(tournament: Tournament, difference: Difference, *, as_json: bool) -> None:
    if not as_json:
        click.echo(clean_line(f"tournament {tournament.id}: {difference}", 2000))
        return
    print_json(
        {
            "tournament": tournament.id,
            "verified": False,
            "difference": {
                "match": difference.match,
                "table": difference.table,
                "deal": difference.deal,
                "what": difference.what,
                "expected": difference.expected,
                "found": difference.found,
            },
        }
    )


def _as_values(tournament: Tournament, verified: Verified, seconds: float, *, document: bool) -> dict[str, Any]:
    return {
        "tournament": tournament.id,
        "verified": True,
        "finished": verified.finished,
        "matches": verified.matches,
        "scheduled": verified.scheduled,
        "deals": verified.deals,
        "decisions": verified.decisions,
        "faults": verified.faults,
        "dealt_anew": verified.dealt_anew,
        "disqualified": sorted(verified.disqualified),
        "seed_commitment": tournament.seed.commitment,
        "document": document,
        "seconds": round(seconds, 3),
    }


def _summary(
    tournament: Tournament, verified: Verified, seconds: float, *, commitment: str | None, document: Path | None
) -> list[str]:
    from arena.report import unfinished

    counts = f"{verified.matches:,} matches, {verified.deals:,} deals, {verified.decisions:,} decisions"
    lines = [f"tournament {tournament.id} is verified: {counts}, {verified.faults:,} faults, in {seconds:.1f} s"]
    if not verified.finished:
        lines.append(unfinished(verified.matches, verified.scheduled))
    if verified.dealt_anew:
        numbers = ", ".join(map(str, verified.dealt_anew))
        lines.append(f"void at first through a fault of the arena, and dealt anew: match {numbers}")
    if verified.disqualified:
        lines.append(f"disqualified: {', '.join(sorted(verified.disqualified))}")
    if document is not None:
        lines.append(f"{document} is what the store gives")
    if commitment is None:
        lines.append(f"seed commitment {tournament.seed.commitment}: compare it with what was published before play")
    else:
        lines.append("the seed is the one that was committed to")
    return lines
