"""Texts of every script and shape, the same every time."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

CODE = Path(__file__).read_text(encoding="utf-8")
BLOCKS = (
    (0x20, 0x7F),
    (0x80, 0x24F),
    (0x370, 0x6FF),
    (0x900, 0xDFF),
    (0xE00, 0xEFF),
    (0x1F00, 0x2BFF),
    (0x3040, 0x30FF),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0xFB00, 0xFFFD),
    (0x10000, 0x10FFF),
    (0x1F300, 0x1FAFF),
    (0x20000, 0x2FA1F),
    (0xE0000, 0xE01FF),
    (0xF0000, 0x10FFFD),
)
WORDS = (
    "Hello",
    "don't",
    "I'LL",
    "naïve",
    "Straße",
    "ΣΊΣΥΦΟΣ",
    "привет",
    "שלום",
    "مرحبا",
    "नमस्ते",
    "สวัสดี",
    "你好",
    "日本語",
    "한국어",
    "ﬁn",
    "ǅ",
)
EMOJI = ("👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪", "1️⃣", "😀", "❤️", "\u200d", "\ufe0f")
MARKS = ("e\u0301", "a\u0308\u0304", "\u0301", "ก\u0e49", "\u0345", "q\u0307\u0323", "\u1e9b\u0323")
SPACES = (
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\n\n\n",
    " \n ",
    "\u00a0",
    "\u3000",
    "\u2028",
    "\u200b",
    "\u0085",
    "\v\f",
    " " * 40,
)
NUMBERS = ("0", "7", "42", "123", "1234567", "3.14159", "1e-9", "0xFF", "１２３", "²³", "½", "Ⅷ", "٣٤")
CONTROLS = ("\x00", "\x01", "\x1b[0m", "\x7f", "\ufeff", "\ufffd", "\uffff", "\u202e", "\U0010ffff")
SIGNS = ("...", "!?", "“”", "—", "$5", "#tag", "@me", "</", "<|", "|>", "[", "]", "▁", "Ġ", "##", "\\n", "'s", "'", "_")


def texts(specials: Sequence[str], count: int, seed: int = 20260809) -> list[str]:
    """`count` texts, in which `specials` are often spelt."""
    draw = random.Random(seed)
    parts: tuple[Callable[[], str], ...] = (
        lambda: _characters(draw),
        lambda: draw.choice(WORDS),
        lambda: " " + draw.choice(WORDS).lower(),
        lambda: draw.choice(EMOJI),
        lambda: draw.choice(MARKS),
        lambda: draw.choice(SPACES),
        lambda: draw.choice(NUMBERS),
        lambda: draw.choice(CONTROLS),
        lambda: draw.choice(SIGNS),
        lambda: draw.choice(specials),
        lambda: draw.choice(specials)[: draw.randrange(12)],
        lambda: _code(draw),
    )
    made = ["", *WORDS, *EMOJI, *MARKS, *SPACES, *NUMBERS, *CONTROLS, *SIGNS, *_long()]
    while len(made) < count:
        made.append("".join(draw.choice(parts)() for _ in range(draw.choice((1, 2, 3, 5, 9)))))
    return made[:count]


def _characters(draw: random.Random) -> str:
    first, last = draw.choice(BLOCKS)
    codes = (draw.randint(first, last) for _ in range(draw.randint(1, 4)))
    return "".join(chr(code) for code in codes if not 0xD800 <= code <= 0xDFFF)


def _code(draw: random.Random) -> str:
    at = draw.randrange(len(CODE) - 60)
    piece = CODE[at : at + draw.randint(1, 60)]
    return piece.replace("    ", "\t") if draw.random() < 0.5 else piece


def _long() -> list[str]:
    return [
        "a" * 3000,
        "ab" * 1500 + "é" * 500,
        "日" * 1000,
        "1" * 1000,
        " " * 3000,
        " " * 3000 + "x",
        "\n" * 500,
        "\t \n" * 300,
        "😀" * 300,
        "e\u0301" * 500,
        "-" * 1000,
        "Word " * 500,
    ]
