"""Addresses of bots: a server asks none that only itself or its own network can reach."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from arena.errors import Refused
from arena.submission.addresses import check_address


def _found(*addresses: str) -> Any:
    def getaddrinfo(_host: str, port: int, *_more: Any, **_named: Any) -> list[Any]:
        return [
            (socket.AF_INET6 if ":" in each else socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port))
            for each in addresses
        ]

    return getaddrinfo


@pytest.mark.parametrize(
    "address",
    [
        *("", "host", "host:", ":443", "host:0", "host:65536", "host:99999", "host:-1", "unix:/tmp/bot.sock", "unix:5"),
        *("dns:443", "http://host:80", "dns:///host:443", "a b:443", "host:443/path", "user@host:443", "h\x1b[31m:443"),
        *("[::1]", "::1:443", "[fe80::1%eth0]:443", "host:443\n", "hö.example:443", "unix-abstract:5"),
    ],
)
@pytest.mark.parametrize("private", [False, True], ids=["public", "private"])
async def test_what_is_no_host_and_port_is_refused(address: str, private: bool) -> None:
    with pytest.raises(Refused) as refusal:
        await check_address(address, private=private)

    assert refusal.value.reason == "BAD_ADDRESS"
    assert "\x1b" not in str(refusal.value)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1:443", "127.1:443", "2130706433:443", "0x7f000001:443", "0.0.0.0:443", "localhost:443"),
        *("10.0.0.1:443", "172.16.0.1:443", "192.168.1.1:443", "169.254.169.254:80", "100.64.0.1:443"),
        *("224.0.0.1:443", "255.255.255.255:443", "240.0.0.1:443", "192.0.2.1:443"),
        *("[::1]:443", "[::]:443", "[fe80::1]:443", "[fc00::1]:443", "[fec0::1]:443", "[ff02::1]:443"),
        *("[::ffff:127.0.0.1]:443", "[::ffff:10.0.0.1]:443", "[64:ff9b::7f00:1]:443", "[2002:7f00:1::]:443"),
    ],
)
async def test_what_is_not_reachable_from_everywhere_is_refused(address: str) -> None:
    with pytest.raises(Refused, match="everywhere") as refusal:
        await check_address(address, private=False)

    assert refusal.value.reason == "BAD_ADDRESS"
    await check_address(address, private=True)


async def test_a_name_is_refused_if_any_of_its_addresses_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", _found("93.184.215.14", "192.168.0.7"))

    with pytest.raises(Refused, match=r"192\.168\.0\.7"):
        await check_address("bots.example.org:443", private=False)


async def test_public_addresses_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    await check_address("93.184.215.14:443", private=False)
    await check_address("[2606:2800:21f:cb07:6820:80da:af6b:8b2c]:443", private=False)
    monkeypatch.setattr(socket, "getaddrinfo", _found("93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"))
    await check_address("bots.example.org:443", private=False)


async def test_a_name_that_is_not_found_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: Any, **_named: Any) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)

    with pytest.raises(Refused, match="not found"):
        await check_address("nowhere.example:443", private=False)
