"""Tokens: what shows that a caller is an owner, and that nothing else does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.competition import Role, Token
from arena.errors import Refused
from arena.tokens import check_token, draw_token, revoke, token_id

NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
TOKEN, TEXT = draw_token("ada", Role.ORGANISER, timedelta(days=30))
SECRET = TEXT[len("arena_") + 8 + 1 :]


def refusal(text: str, found: Token | None, now: datetime = TOKEN.created) -> Refused:
    with pytest.raises(Refused) as refused:
        check_token(text, found, now)
    return refused.value


def test_a_token_lets_its_owner_in_until_it_expires() -> None:
    assert TOKEN.expires == TOKEN.created + timedelta(days=30)
    assert token_id(TEXT) == TOKEN.id
    assert check_token(TEXT, TOKEN, TOKEN.created) == TOKEN
    assert check_token(TEXT, TOKEN, TOKEN.expires - timedelta(seconds=1)) == TOKEN
    assert refusal(TEXT, TOKEN, TOKEN.expires).reason == "EXPIRED_TOKEN"


def test_a_token_without_lifetime_never_expires() -> None:
    token, text = draw_token("ada", Role.CONTESTANT)

    assert token.expires is None
    assert check_token(text, token, datetime.max.replace(tzinfo=UTC)) == token


def test_a_revoked_token_lets_nobody_in_and_keeps_when_it_was_revoked() -> None:
    revoked = revoke(TOKEN, NOW)

    assert refusal(TEXT, revoked).reason == "REVOKED_TOKEN"
    assert revoke(revoked, NOW + timedelta(days=1)) == revoked


def test_the_secret_has_256_bits_and_only_its_hash_is_kept() -> None:
    assert len(SECRET) * 6 >= 256
    assert TOKEN.digest == sha256(SECRET.encode()).digest()
    assert SECRET not in repr(TOKEN)
    assert repr(TOKEN.digest) not in repr(TOKEN)


def test_no_token_is_drawn_twice() -> None:
    texts = {draw_token("ada", Role.CONTESTANT)[1] for _ in range(1000)}

    assert len({text[15:] for text in texts}) == 1000


WRONG: dict[str, Callable[[str], str]] = {
    "no text": lambda text: "",
    "the last character": lambda text: text[:-1] + ("A" if text[-1] != "A" else "B"),
    "the first character": lambda text: text[:15] + ("A" if text[15] != "A" else "B") + text[16:],
    "a character more": lambda text: text + "A",
    "a character less": lambda text: text[:-1],
    "a line end": lambda text: text + "\n",
    "upper case": str.upper,
    "another id": lambda text: "arena_" + ("0" if text[6] != "0" else "1") + text[7:],
    "digits that only look so": lambda text: text[:6] + "\u0660" * 8 + text[14:],
    "only the id": lambda text: text[:15],
    "another token's secret": lambda text: text[:15] + draw_token("eve", Role.ORGANISER)[1][15:],
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_any_other_text_is_refused_without_repeating_it(change: Callable[[str], str]) -> None:
    wrong = change(TEXT)
    refused = refusal(wrong, TOKEN if token_id(wrong) == TOKEN.id else None)

    assert refused.reason == "BAD_TOKEN"
    assert SECRET[:8] not in str(refused)
    assert not wrong or wrong not in str(refused)


@given(st.text(max_size=100))
def test_any_text_at_all_is_refused(text: str) -> None:
    assert token_id(text) == ""
    assert refusal(text, TOKEN).reason == "BAD_TOKEN"


@pytest.mark.parametrize("found", [revoke(TOKEN, NOW), TOKEN, None], ids=["revoked", "expired", "unknown"])
def test_only_its_holder_learns_what_became_of_a_token(found: Token | None) -> None:
    guess = TEXT[:15] + draw_token("eve", Role.CONTESTANT)[1][15:]
    late = TOKEN.created + timedelta(days=99)

    assert str(refusal(guess, found, late)) == str(refusal(guess, None, late))
    assert refusal(guess, found, late).reason == "BAD_TOKEN"
