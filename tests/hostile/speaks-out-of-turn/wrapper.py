"""Sends the protocol's own messages where they do not belong. `how` names the order."""

from __future__ import annotations

from collections.abc import Callable

from kit import Exact

from ann_bench.wire import Channel, Message

SEND = Channel.send
Say = Callable[[Message], None]


class Entry(Exact):
    def set_query_arguments(self, how: str) -> None:
        self.tokens: list[str] = []
        speak = getattr(self, how.replace(" ", "_"))

        def send(channel: Channel, message: Message) -> None:
            if message["type"] == "done" and "token" in message:
                self.tokens.append(message["token"])
            speak(message, lambda said: SEND(channel, said))

        Channel.send = send  # type: ignore[method-assign]

    def done_before_ready(self, message: Message, say: Say) -> None:
        if message["type"] == "ready":
            say({**message, "type": "done", "token": ""})
        say(message)

    def done_for_ready(self, message: Message, say: Say) -> None:
        say({**message, "type": "done"} if message["type"] == "ready" else message)

    def ready_twice(self, message: Message, say: Say) -> None:
        say(message)
        if message["type"] == "ready":
            say(message)

    def done_twice(self, message: Message, say: Say) -> None:
        say(message)
        if "token" in message:
            say(message)

    def hello_again(self, message: Message, say: Say) -> None:
        if "token" in message:
            say({"type": "hello", "protocol": 1, "python": "3", "numpy": "2"})
        say(message)

    def quit(self, message: Message, say: Say) -> None:
        say({"type": "quit", "seq": message["seq"]} if "token" in message else message)

    def go(self, message: Message, say: Say) -> None:
        say({**message, "type": "go"} if "token" in message else message)

    def an_old_token(self, message: Message, say: Say) -> None:
        if len(self.tokens) == 2 and "token" in message:
            message = {**message, "token": self.tokens[0]}
        say(message)

    def another_number(self, message: Message, say: Say) -> None:
        say({**message, "seq": message["seq"] + 1} if "token" in message else message)

    def an_error_of_its_own(self, message: Message, say: Say) -> None:
        say({**message, "type": "error", "kind": "ok", "text": "all went well"} if "token" in message else message)
