"""Valid numbers of every kind of PII, made without python-stdnum, and how people write them."""

from __future__ import annotations

import string
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address
from random import Random

Pair = tuple[str, str]
"""A valid number and one like it that is not, both bare."""
Way = Callable[[str], Pair]
"""How a number is written: words that go before, and the number with its separators."""

# Prefix and length.
CARDS = [("4", 13), ("4", 16), ("51", 16), ("55", 16), ("2221", 16), ("2720", 16), ("34", 15)]
CARDS += [("37", 15), ("6011", 16), ("65", 16), ("3530", 16), ("62", 16), ("36", 14), ("2200", 16)]
ACCOUNTS = {
    "BR": "9" * 23 + "AA",
    "CH": "9" * 17,
    "DE": "9" * 18,
    "ES": "9" * 20,
    "FR": "9" * 10 + "A" * 11 + "99",
    "GB": "AAAA" + "9" * 14,
    "IT": "A" + "9" * 22,
    "MT": "AAAA" + "9" * 23,
    "NL": "AAAA" + "9" * 10,
    "NO": "9" * 11,
    "PL": "9" * 24,
}
# N stands for any digit, M for one from 2 to 9.
PHONES = """
    +1 MNN MNN NNNN; +1-MNN-MNN-NNNN; +1MNNMNNNNNN; (MNN) MNN-NNNN; MNN-MNN-NNNN; MNN.MNN.NNNN;
    1-MNN-MNN-NNNN; +44 20 7NNN NNNN; +44 (0)20 7NNN NNNN; 0044 20 7NNN NNNN; 020 7NNN NNNN;
    07NNN NNNNNN; (0161) 4NN NNNN; +49 30 NNNNNNNN; 030/NNNNNNN; 0171 NNNNNNN; +33 1 MN NN NN NN;
    01 MN NN NN NN; 06.MN.NN.NN.NN; +34 6MN NNN NNN; 6MN NN NN NN; +91 98MNN NNNNN; 98MNN NNNNN;
    +55 11 9MNNN-NNNN; (11) 9MNNN-NNNN; 03-MNNN-NNNN; 04 MNNN NNNN; 04MN NNN NNN; 138 MNNN NNNN;
    +86 138 MNNN NNNN; 8 (495) MNN-NN-NN; +7 495 MNN-NN-NN; 01MNNNNNNN
"""


def digits(chance: Random, n: int) -> str:
    return "".join(chance.choices(string.digits, k=n))


def changed(digit: str) -> str:
    return str((int(digit) + 1) % 10)


def with_luhn(body: str) -> Pair:
    total = 0
    for place, digit in enumerate(reversed(body)):
        value = int(digit) * (2 if place % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    check = str(-total % 10)
    return body + check, body + changed(check)


def card(chance: Random) -> Pair:
    prefix, length = chance.choice(CARDS)
    return with_luhn(prefix + digits(chance, length - len(prefix) - 1))


def iban(chance: Random) -> Pair:
    country, form = chance.choice(list(ACCOUNTS.items()))
    body = "".join(
        chance.choice(string.ascii_uppercase) if one == "A" else chance.choice(string.digits)
        for one in form
    )
    spelt = "".join(str(int(one, 36)) for one in f"{body}{country}00")
    check = 98 - int(spelt) % 97
    return f"{country}{check:02d}{body}", f"{country}{(check + 1) % 100:02d}{body}"


def ssn(chance: Random) -> Pair:
    area = chance.choice([n for n in range(1, 900) if n != 666])
    tail = f"{chance.randint(1, 99):02d}{chance.randint(1, 9999):04d}"
    wrong = chance.choice(["000", "666", f"{chance.randint(900, 999)}"])
    return f"{area:03d}{tail}", f"{wrong}{tail}"


def nino(chance: Random) -> Pair:
    prefix = chance.choice(["AB", "CE", "JG", "WZ", "SN", "PR", "ZX", "MN"])
    number = digits(chance, 6)
    wrong = chance.choice([f"{prefix}{number}E", f"BG{number}A", f"D{prefix[1]}{number}A"])
    return f"{prefix}{number}{chance.choice('ABCD')}", wrong


def german_tax_id(chance: Random) -> Pair:
    while True:
        ten = chance.sample(string.digits, 10)
        copies = chance.choice([1, 2])
        for place in chance.sample(range(1, 10), copies):
            ten[place] = ten[0]
        chance.shuffle(ten)
        if ten[0] != "0" and ten.count(max(ten, key=ten.count)) == copies + 1:
            break
    product = 10
    for digit in ten:
        total = (int(digit) + product) % 10
        product = (2 * (10 if total == 0 else total)) % 11
    check = 11 - product
    check = 0 if check == 10 else check
    body = "".join(ten)
    return f"{body}{check}", f"{body}{changed(str(check))}"


def nir(chance: Random) -> Pair:
    department = chance.choice(["01", "33", "75", "95", "2A", "2B"])
    body = f"{chance.choice('12')}{digits(chance, 2)}{chance.randint(1, 12):02d}{department}"
    body += digits(chance, 6)
    # Corsica: 2A and 2B count as 20, less a million or two.
    number = int(body.replace("2A", "20").replace("2B", "20"))
    number -= 1_000_000 * (department == "2A") + 2_000_000 * (department == "2B")
    key = 97 - number % 97
    return f"{body}{key:02d}", f"{body}{key % 97 + 1:02d}"


def dni(chance: Random) -> Pair:
    letters = "TRWAGMYFPDXBNJZSQVHLCKE"
    if chance.random() < 0.5:
        number = chance.randrange(10**7, 10**8)
        return f"{number}{letters[number % 23]}", f"{number}{letters[(number + 1) % 23]}"
    first, tail = chance.randrange(3), chance.randrange(10**6, 10**7)
    place = (first * 10**7 + tail) % 23
    head = f"{'XYZ'[first]}{tail}"
    return head + letters[place], head + letters[(place + 1) % 23]


def codice_fiscale(chance: Random) -> Pair:
    letters = "".join(chance.choices(string.ascii_uppercase, k=6))
    day = chance.randint(1, 31) + chance.choice([0, 40])
    place = f"{chance.choice('ABCDEFGHIL')}{digits(chance, 2)}{chance.choice('0123456789LMNP')}"
    code = f"{letters}{digits(chance, 2)}{chance.choice('ABCDEHLMPRST')}{day:02d}{place}"
    odd = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22]
    odd += [25, 24, 23]
    total = 0
    for index, one in enumerate(code, start=1):
        value = int(one) if one.isdigit() else string.ascii_uppercase.index(one)
        total += odd[value] if index % 2 else value
    check = total % 26
    return f"{code}{chr(65 + check)}", f"{code}{chr(65 + (check + 1) % 26)}"


def bsn(chance: Random) -> Pair:
    while True:
        body = chance.choice("123456789") + digits(chance, 7)
        check = (
            sum(int(one) * weight for one, weight in zip(body, range(9, 1, -1), strict=True)) % 11
        )
        if check < 10:
            return f"{body}{check}", f"{body}{changed(str(check))}"


def sin(chance: Random) -> Pair:
    return with_luhn(chance.choice("12345679") + digits(chance, 7))


def dihedral(a: int, b: int) -> int:
    """The product of two symmetries of a pentagon: rotations 0-4, reflections 5-9."""
    turned = (a + b) % 5 if a < 5 else (a - b) % 5
    return turned + 5 * ((a < 5) != (b < 5))


def aadhaar(chance: Random) -> Pair:
    body = chance.choice("3456789") + digits(chance, 10)
    step = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)
    total = 0
    for place, one in enumerate(reversed(body), start=1):
        digit = int(one)
        for _ in range(place % 8):
            digit = step[digit]
        total = dihedral(total, digit)
    check = next(str(d) for d in range(10) if dihedral(total, d) == 0)
    return body + check, body + changed(check)


def cpf(chance: Random) -> Pair:
    body = digits(chance, 9)
    for weights in (range(10, 1, -1), range(11, 1, -1)):
        rest = sum(int(one) * weight for one, weight in zip(body, weights, strict=True)) % 11
        body += "0" if rest < 2 else str(11 - rest)
    return body, body[:-1] + changed(body[-1])


def email(chance: Random) -> Pair:
    name = chance.choice(["jo", "jo.doe", "jo+news", "j_doe77", "JO-DOE", "o'neil", "josé"])
    host = chance.choice(["example", "mail.example", "my-mail", "x1", "exämple"])
    top = chance.choice(["com", "org", "co.uk", "de", "museum", "COM"])
    at, dot = chance.choice([("@", ".")] * 4 + [("(at)", "."), (" [at] ", " [dot] "), (" @ ", ".")])
    return f"{name}{at}{f'{host}.{top}'.replace('.', dot)}", f"{name}{at}{host.split('.')[-1]}"


def ipv4(chance: Random) -> Pair:
    address = IPv4Address(chance.randrange(2**24 * 20, 2**24 * 120))
    wrong = str(address).split(".")
    wrong[chance.randrange(4)] = str(chance.randint(256, 999))
    return str(address), ".".join(wrong)


def ipv6(chance: Random) -> Pair:
    groups = [chance.randrange(2**16) * (chance.random() < 0.6) for _ in range(7)]
    address = IPv6Address(":".join(f"{group:x}" for group in [0x2A02, *groups]))
    shown = chance.choice([address.exploded, address.compressed, address.exploded.upper()])
    wrong = [*address.exploded.split(":")]
    wrong[chance.randrange(8)] = "12345"
    return shown, ":".join(wrong)


def phone(chance: Random) -> str:
    form = chance.choice(PHONES.split(";")).strip()
    form = "".join(chance.choice("23456789") if one == "M" else one for one in form)
    return "".join(chance.choice(string.digits) if one == "N" else one for one in form)


def grouped(number: str, *sizes: int, by: str) -> str:
    parts, start = [], 0
    for size in sizes:
        parts.append(number[start : start + size])
        start += size
    return by.join(part for part in [*parts, number[start:]] if part)


def in_groups(*sizes: int, by: str, word: str = "") -> Way:
    return lambda number: (word, grouped(number, *sizes, by=by))


def bare(number: str) -> Pair:
    return "", number


def small(number: str) -> Pair:
    return "", number.lower()


def after(word: str) -> Way:
    return lambda number: (word, number)


def card_groups(by: str) -> Way:
    sizes = {15: (4, 6), 14: (4, 6), 13: (4, 3, 3)}
    return lambda number: ("", grouped(number, *sizes.get(len(number), (4, 4, 4)), by=by))


def dni_with(by: str, word: str = "") -> Way:
    return lambda number: (word, f"{number[:-1]}{by}{number[-1]}")


def dni_with_points(number: str) -> Pair:
    if not number[0].isdigit():
        return "", f"{number[0]}-{number[1:-1]}-{number[-1]}"
    return "", f"{grouped(number[:-1], 2, 3, by='.')}-{number[-1]}"


def cpf_with_points(number: str) -> Pair:
    return "", f"{grouped(number[:9], 3, 3, by='.')}-{number[9:]}"


FOURS = [4] * 8
KINDS: dict[str, tuple[Callable[[Random], Pair], list[Way]]] = {
    "br_cpf": (cpf, [bare, cpf_with_points]),
    "ca_sin": (sin, [in_groups(3, 3, by=" "), in_groups(3, 3, by="-"), after("SIN ")]),
    "card": (card, [bare, card_groups(" "), card_groups("-"), card_groups(" - ")]),
    # Eleven digits in a row may be a valid CPF, too: there the word decides.
    "de_tax_id": (german_tax_id, [in_groups(2, 3, 3, by=" "), after("Steuer-ID ")]),
    "email": (email, [bare]),
    "es_dni": (dni, [bare, dni_with("-"), dni_with_points, dni_with(" ", word="DNI ")]),
    "fr_nir": (nir, [bare, *(in_groups(1, 2, 2, 2, 3, 3, by=by) for by in " .-")]),
    "iban": (iban, [bare, small, in_groups(*FOURS, by=" "), in_groups(*FOURS, by="-")]),
    "in_aadhaar": (aadhaar, [bare, in_groups(4, 4, by=" "), in_groups(4, 4, by="-")]),
    "ipv4": (ipv4, [bare]),
    "ipv6": (ipv6, [bare]),
    "it_codice_fiscale": (codice_fiscale, [bare, small, in_groups(3, 3, 5, 4, by=" ")]),
    "nl_bsn": (
        bsn,
        [
            after("BSN "),
            in_groups(4, 2, by=".", word="bsn-nummer: "),
            in_groups(3, 3, by=" ", word="burgerservicenummer is "),
        ],
    ),
    "uk_nino": (nino, [bare, small, in_groups(2, 2, 2, 2, by=" "), in_groups(2, 6, by=" ")]),
    "us_ssn": (ssn, [in_groups(3, 2, by="-"), in_groups(3, 2, by=" "), after("SSN: ")]),
}


def disguised(number: str, chance: Random) -> str:
    """The same to the eye: other blanks and dashes, full-width digits, characters without width."""
    blank, dash = chance.choice("\u00a0\u2009\u202f"), chance.choice("‑–−")
    number = number.replace(" ", blank).replace("-", dash)
    if chance.random() < 0.5:
        number = number.translate(
            {ord(one): ord(one) - ord("0") + ord("０") for one in string.digits}
        )
    if chance.random() < 0.5:
        place, unseen = chance.randrange(1, len(number)), chance.choice("\u200b\u2060\u00ad")
        number = f"{number[:place]}{unseen}{number[place:]}"
    return number
