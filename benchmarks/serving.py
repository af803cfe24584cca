"""The service under load: speed beside a plain loop, memory, a killed server, a graceful stop.

    python -m benchmarks.serving [--data ag_news] [--requests 20000] [--quick] [--json]

`icaps serve` runs as a process with the shipped model, and clients send it texts of the test part
over connections that stay open, each client one request at a time:

1. texts per second and times of /predict and /explain with 1, 8 and 64 clients, beside a loop in
   Python over the library, which computes and encodes the same answers text by text;
2. many requests, one in four an explanation: errors, answers other than the library's, and the
   server's memory at the start, after a tenth and at the end;
3. more texts at once than may wait: how many are refused, and the server's memory meanwhile;
4. the server is killed and started again while clients send: they repeat what had no answer;
5. SIGTERM while requests are computed: how many are answered.

The clients write HTTP on plain sockets, since those of an HTTP library need more processor time
than the server; the time of both is in the table, as they share the machine. The exit code is 1 if
a request was lost, an answer was wrong, or the memory grew by more than a tenth.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from icaps.classifier import ICapsClassifier
from icaps.config import ACCOUNT, ExplainOptions
from icaps.data.resolve import resolve
from icaps.data.source import read_part
from icaps.service.batching import compute
from icaps.shipped import CHECKPOINTS

PREDICT, EXPLAIN = "/predict", "/explain"
CLIENTS = (1, 8, 64)
TIMEOUT = 60.0  # seconds until an answer counts as lost
TICKS = os.sysconf("SC_CLK_TCK")  # of processor time, per second


class Connection:
    """A client's connection to the server, which stays open."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, content: dict[str, Any]) -> tuple[int, bytes, bytes]:
        """The status, headers and body of an answer.

        Raises:
            OSError, EOFError: The connection could not be opened, or it ended.
            TimeoutError: There is no answer.
        """
        body = json.dumps(content).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        try:
            return await asyncio.wait_for(self._exchange(head.encode() + body), TIMEOUT)
        except BaseException:
            self.close()
            raise

    async def _exchange(self, request: bytes) -> tuple[int, bytes, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._streams
        writer.write(request)
        headers = (await reader.readuntil(b"\r\n\r\n")).lower()
        size = int(headers.split(b"content-length: ")[1].split(b"\r\n")[0])
        body = await reader.readexactly(size)
        if b"connection: close" in headers:
            self.close()
        return int(headers.split()[1]), headers, body

    def close(self) -> None:
        """Closes it; the next request opens it again."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


@dataclass
class Server:
    """`icaps serve` as a process."""

    model: Path
    port: int
    process: subprocess.Popen[bytes]

    @classmethod
    def start(cls, model: Path, port: int) -> Server:
        """Starts it and waits until it answers."""
        command = [sys.executable, "-m", "icaps", "serve", "--model", str(model)]
        process = subprocess.Popen([*command, "--port", str(port)], stderr=subprocess.DEVNULL)
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return cls(model, port, process)
            except ConnectionRefusedError:
                assert process.poll() is None, "the server ended at its start"
                time.sleep(0.05)

    @property
    def megabytes(self) -> float:
        """Resident memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    @property
    def seconds(self) -> float:
        """Processor time that it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


@contextmanager
def served(model: Path) -> Iterator[Server]:
    """A server on a free port, which is killed at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Server.start(model, port)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait()


@dataclass
class Load:
    """What clients send and have been answered."""

    port: int
    texts: Sequence[str]
    predicted: Sequence[str] = ()  # by the library; empty if answers are not compared
    times: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    wrong: int = 0
    repeated: int = 0  # requests without an answer, which were sent again

    async def send(self, clients: int, requests: Iterator[tuple[int, str]]) -> None:
        """Sends requests (number, path) by concurrent clients until there are none left."""

        async def client() -> None:
            connection = Connection(self.port)
            for number, path in requests:
                await self._send(connection, path, number % len(self.texts))
            connection.close()

        await asyncio.gather(*(client() for _ in range(clients)))

    async def _send(self, connection: Connection, path: str, number: int) -> None:
        while True:
            start = time.perf_counter()
            try:
                status, _, body = await connection.post(path, {"text": self.texts[number]})
                break
            except (OSError, EOFError):
                self.repeated += 1
                await asyncio.sleep(0.1)
        self.times.append(time.perf_counter() - start)
        self.statuses[status] += 1
        if self.predicted and status == 200:
            found = json.loads(body)["results"][0]["predicted"]
            self.wrong += found != self.predicted[number]

    @property
    def failed(self) -> int:
        """The number of answers that are errors."""
        return self.statuses.total() - self.statuses[200]


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """p50, p95 and p99 in milliseconds."""
    ordered = sorted(seconds)
    return {
        f"p{share}_ms": round(ordered[-(-len(ordered) * share // 100) - 1] * 1e3, 1)
        for share in (50, 95, 99)
    }


def loop(
    classifier: ICapsClassifier, texts: Sequence[str], path: str, count: int
) -> dict[str, Any]:
    """The speed of a loop that computes and encodes one answer after the other."""
    options = ExplainOptions(ranking=ACCOUNT) if path == EXPLAIN else None
    times = []
    for number in range(-count // 4, count):  # the first ones are not measured
        start = time.perf_counter()
        json.dumps(compute(classifier, [texts[number % len(texts)]], options))
        if number >= 0:
            times.append(time.perf_counter() - start)
    return {"texts_per_second": round(count / sum(times)), **percentiles(times)}


def speed(
    server: Server, texts: Sequence[str], path: str, clients: int, count: int
) -> dict[str, Any]:
    """The speed with some clients, and the processor time of both sides per second."""
    for measured in (False, True):
        load = Load(server.port, texts)
        number = count if measured else count // 4
        used, own, start = server.seconds, time.process_time(), time.perf_counter()
        asyncio.run(load.send(clients, iter([(n, path) for n in range(number)])))
        wall = time.perf_counter() - start
        assert not load.failed, load.statuses
    return {
        "texts_per_second": round(count / wall),
        **percentiles(load.times),
        "server_cores": round((server.seconds - used) / wall, 2),
        "client_cores": round((time.process_time() - own) / wall, 2),
    }


def soak(server: Server, load: Load, count: int) -> dict[str, Any]:
    """Memory and errors over many requests, one in four an explanation."""
    memory = {"start": server.megabytes}

    def requests() -> Iterator[tuple[int, str]]:
        for number in range(count):
            if number == count // 10:
                memory["after a tenth"] = server.megabytes
            yield number, EXPLAIN if number % 4 == 0 else PREDICT

    start = time.perf_counter()
    asyncio.run(load.send(8, requests()))
    seconds = time.perf_counter() - start
    memory["end"] = server.megabytes
    return {
        "requests": load.statuses.total(),
        "seconds": round(seconds),
        "errors": load.failed + load.repeated,
        "wrong": load.wrong,
        "memory_mb": {name: round(value) for name, value in memory.items()},
        "grown": memory["end"] > 1.1 * memory["after a tenth"],
    }


def overload(server: Server, texts: Sequence[str]) -> dict[str, Any]:
    """Sends five times the texts that may wait, and notes what is refused."""
    before, most = server.megabytes, 0.0
    statuses: Counter[int] = Counter()
    without_advice = 0

    async def client(number: int) -> None:
        nonlocal without_advice
        many = [texts[(number * 256 + n) % len(texts)] for n in range(256)]
        status, headers, _ = await Connection(server.port).post(PREDICT, {"texts": many})
        statuses[status] += 1
        without_advice += status == 503 and b"retry-after: " not in headers

    async def all_at_once() -> None:
        nonlocal most
        tasks = [asyncio.create_task(client(number)) for number in range(200)]
        while not all(task.done() for task in tasks):
            most = max(most, server.megabytes)
            await asyncio.sleep(0.01)
        await asyncio.gather(*tasks)

    asyncio.run(all_at_once())
    return {
        "requests_of_256_texts": statuses.total(),
        "answered": statuses[200],
        "refused": statuses[503],
        "others": statuses.total() - statuses[200] - statuses[503] + without_advice,
        "memory_mb": {"before": round(before), "most": round(most), "end": round(server.megabytes)},
    }


def kill(server: Server, load: Load, count: int) -> dict[str, Any]:
    """Kills the server with SIGKILL in the middle, and starts it again at once."""
    down = 0.0

    async def run() -> None:
        nonlocal down
        requests = iter([(n, PREDICT) for n in range(count)])
        sending = asyncio.create_task(load.send(8, requests))
        while load.statuses.total() < count // 2:
            await asyncio.sleep(0.01)
        start = time.perf_counter()
        server.process.kill()
        server.process.wait()
        again = await asyncio.to_thread(Server.start, server.model, server.port)
        server.process, down = again.process, time.perf_counter() - start
        await sending

    asyncio.run(run())
    return {
        "requests": count,
        "answered": load.statuses[200],
        "repeated": load.repeated,
        "wrong": load.wrong,
        "seconds_down": round(down, 1),
    }


def stop(server: Server, texts: Sequence[str]) -> dict[str, Any]:
    """Sends SIGTERM while requests are computed; all of them should be answered."""
    statuses: Counter[str] = Counter()

    async def client(number: int) -> None:
        many = [texts[(number * 64 + n) % len(texts)] for n in range(64)]
        try:
            status, _, body = await Connection(server.port).post(EXPLAIN, {"texts": many})
            complete = len(json.loads(body)["results"]) == 64
            statuses["answered" if status == 200 and complete else str(status)] += 1
        except (OSError, EOFError, ValueError):
            statuses["lost"] += 1

    async def run() -> None:
        tasks = [asyncio.create_task(client(number)) for number in range(32)]
        await asyncio.sleep(0.5)  # until all of them have been received
        os.kill(server.process.pid, signal.SIGTERM)
        await asyncio.gather(*tasks)

    asyncio.run(run())
    code = server.process.wait(60)
    return {"requests": 32, **statuses, "ended_by_the_signal": code in (0, -signal.SIGTERM)}


def measure(model: Path, texts: Sequence[str], requests: int, quick: bool) -> dict[str, Any]:
    """The figures of all parts."""
    classifier = ICapsClassifier.load(model, device="cpu")
    predicted = [str(name) for name in classifier.predict(texts)]
    few = 200 if quick else 1_000
    figures: dict[str, Any] = {}
    with served(model) as server:
        for path in (PREDICT, EXPLAIN):
            figures[f"{path}, a loop in Python"] = loop(classifier, texts, path, few)
            for clients in CLIENTS:
                count = few if clients == 1 else 4 * few
                figures[f"{path}, clients: {clients}"] = speed(server, texts, path, clients, count)
    with served(model) as server:
        figures["many requests"] = soak(server, Load(server.port, texts, predicted), requests)
        figures["overload"] = overload(server, texts)
        figures["killed"] = kill(server, Load(server.port, texts, predicted), 4 * few)
        figures["stopped"] = stop(server, texts)
    return figures


def failures(figures: dict[str, Any]) -> list[str]:
    """What should not have happened."""
    many, over, killed = figures["many requests"], figures["overload"], figures["killed"]
    faults = {
        "many requests: errors or wrong answers": many["errors"] or many["wrong"],
        "many requests: the memory grew": many["grown"],
        "overload: nothing was refused, or not with 503 and advice": (
            not over["refused"] or over["others"]
        ),
        "killed: a request had no answer, or a wrong one": (
            killed["answered"] < killed["requests"] or killed["wrong"]
        ),
        "stopped: a request had no answer": (
            figures["stopped"].get("answered") != figures["stopped"]["requests"]
        ),
    }
    return [fault for fault, happened in faults.items() if happened]


def main() -> int:
    """Measures, prints the figures, and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=CHECKPOINTS / "ag_news")
    parser.add_argument("--data", default="ag_news", help="texts: a path or a name")
    parser.add_argument("--requests", type=int, default=20_000, help="of the test of memory")
    parser.add_argument("--quick", action="store_true", help="fewer requests for the speeds")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    texts = read_part(resolve(options.data), "test").texts
    figures = measure(options.model, texts, options.requests, options.quick)
    if options.json:
        print(json.dumps(figures | {"machine": machine()}))
    else:
        for name, row in figures.items():
            print(f"{name}: {', '.join(f'{what} {value}' for what, value in row.items())}")
        print(machine())
    for failure in failures(figures):
        print("FAILED", failure)
    return int(bool(failures(figures)))


if __name__ == "__main__":
    raise SystemExit(main())
