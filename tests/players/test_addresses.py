"""Addresses of bots: a server asks none that only itself or its own network can reach."""

from __future__ import annotations

import asyncio
import re
import socket
from dataclasses import replace
from typing import Any

import pytest

from arena.errors import BotUnusable, Refused
from arena.identity import portable_entry
from arena.players import addresses
from arena.players.addresses import check_address, public_target
from arena.players.channel import Channel
from arena.players.endpoint import Address
from arena.settings import Entry


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


@pytest.mark.parametrize(
    ("found", "target"),
    [
        (["93.184.215.14"], "ipv4:93.184.215.14:443"),
        (["93.184.215.14", "93.184.215.15"], "ipv4:93.184.215.14:443,93.184.215.15:443"),
        (["2606:2800:21f::2"], "ipv6:[2606:2800:21f::2]:443"),
    ],
)
async def test_a_public_name_is_dialled_by_its_numbers(
    found: list[str], target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", _found(*found))

    assert await public_target("bots.example.org:443") == target


async def test_of_two_families_that_is_dialled_to_which_there_is_a_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", _found("2606:2800:21f::2", "93.184.215.14"))
    monkeypatch.setattr(addresses, "_has_route", lambda number, _port: number.version == 4)

    assert await public_target("bots.example.org:443") == "ipv4:93.184.215.14:443"


async def test_a_name_that_has_come_to_mean_this_network_is_not_dialled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", _found("93.184.215.14"))
    await check_address("bots.example.org:443", private=False)
    monkeypatch.setattr(socket, "getaddrinfo", _found("192.168.0.7"))
    rebound = Address(Entry("afar", address="bots.example.org:443", public_only=True))

    with pytest.raises(BotUnusable, match=r"bot afar: .*not reachable from everywhere \(192\.168\.0\.7\)"):
        await rebound.open(0.0)


async def test_what_is_dialled_by_number_is_called_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\0\0\0\4\0\0\0\0\0")  # HTTP/2: no settings of its own
        received = b""
        while not (found := re.search(rb"bots\.example\.org:\d+|127\.0\.0\.1:\d+", received)):
            received += await reader.read(1000)
        heard.set_result(found[0])
        writer.close()

    async with await asyncio.start_server(hear, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        monkeypatch.setattr(socket, "getaddrinfo", _found("127.0.0.1"))
        monkeypatch.setattr(addresses, "_is_public", lambda _address: True)
        bot = Address(Entry("afar", address=f"bots.example.org:{port}", public_only=True))
        channel = Channel(await bot.open(0.0))
        calling = asyncio.create_task(channel.call("Describe", b"", lambda: asyncio.get_running_loop().time() + 20))

        assert await asyncio.wait_for(heard, 20) == f"bots.example.org:{port}".encode()

        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        await channel.close()


def test_what_may_be_dialled_does_not_make_another_tournament() -> None:
    entry = Entry("afar", address="bots.example.org:443", public_only=True)

    assert Entry.from_json(entry.to_json()) == entry
    assert portable_entry(entry) == portable_entry(replace(entry, public_only=False))
