"""Check digits: what tells a number that was issued from any other of its length.

All functions take a number without its separators, letters in capitals.
"""

from __future__ import annotations

import re
from collections import Counter

# Length by country, from the IBAN registry.
IBAN_LENGTHS = {
    code: length
    for length, codes in {
        15: "NO",
        16: "BE",
        18: "DK FI FK FO GL NL SD",
        19: "MK SI",
        20: "AT BA EE KZ LT LU MN XK",
        21: "CH HR LI LV",
        22: "BG BH CR DE GB GE IE ME RS VA",
        23: "AE GI IL IQ OM SO TL",
        24: "AD CZ ES MD PK RO SA SE SK TN VG",
        25: "LY PT ST",
        26: "IS TR",
        27: "BI DJ FR GR IT MC MR SM",
        28: "AL AZ BY CY DO GT HN HU LB NI PL SV",
        29: "BR EG PS QA UA",
        30: "JO KW MU YE",
        31: "MT SC",
        32: "LC",
        33: "RU",
    }.items()
    for code in codes.split()
}

_CARD_ISSUERS = re.compile(
    r"""
    4(?:.{12}|.{15}|.{18})                                           # Visa
    | (?:5[1-5]|222[1-9]|22[3-9].|2[3-6]..|27[01].|2720).*(?<=^.{16})  # Mastercard
    | 3[47].{13}                                                     # American Express
    | (?:30[0-5]|309|36|3[89]).*(?:(?<=^.{14})|(?<=^.{16}))          # Diners Club
    | 35(?:2[89]|[3-8].).{12,15}                                     # JCB
    | (?:6011|64[4-9].|65..).{12,15}                                 # Discover
    | 62.{14,17}                                                     # UnionPay
    | 220[0-4].{12,15}                                               # Mir
    | (?:60|81|82|508).*(?<=^.{16})                                  # RuPay
    | (?:5018|5020|5038|5893|6304|6759|676[1-3]).{9,15}              # Maestro
    """,
    re.VERBOSE,
)

_CROSS_SUM_OF_DOUBLE = str.maketrans("0123456789", "0246813579")
_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"

# Codice fiscale: what the characters at odd places (the first is odd) are worth, 0-9 as A-J.
_CODICE_ODD = tuple(ord(letter) - ord("A") for letter in "BAFHJNPRTVCESULDGIMOQKWZYX")

# Verhoeff: the multiplication of the dihedral group D₅, and the permutation applied by place.
_DIHEDRAL = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9),
    (1, 2, 3, 4, 0, 6, 7, 8, 9, 5),
    (2, 3, 4, 0, 1, 7, 8, 9, 5, 6),
    (3, 4, 0, 1, 2, 8, 9, 5, 6, 7),
    (4, 0, 1, 2, 3, 9, 5, 6, 7, 8),
    (5, 9, 8, 7, 6, 0, 4, 3, 2, 1),
    (6, 5, 9, 8, 7, 1, 0, 4, 3, 2),
    (7, 6, 5, 9, 8, 2, 1, 0, 4, 3),
    (8, 7, 6, 5, 9, 3, 2, 1, 0, 4),
    (9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
)
_PERMUTED = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9),
    (1, 5, 7, 6, 2, 8, 3, 0, 9, 4),
    (5, 8, 0, 3, 7, 9, 6, 1, 4, 2),
    (8, 9, 1, 6, 0, 4, 3, 5, 2, 7),
    (9, 4, 5, 3, 1, 2, 6, 8, 7, 0),
    (4, 2, 8, 6, 5, 7, 3, 9, 0, 1),
    (2, 7, 9, 3, 8, 0, 6, 4, 1, 5),
    (7, 0, 4, 6, 9, 1, 3, 2, 5, 8),
)


def luhn(digits: str) -> bool:
    """Every second digit from the right doubled, cross sums added: Σ ≡ 0 (mod 10).

    >>> luhn("4111111111111111"), luhn("4111111111111112")
    (True, False)
    """
    doubled = digits[-2::-2].translate(_CROSS_SUM_OF_DOUBLE)
    return (sum(map(int, doubled)) + sum(map(int, digits[-1::-2]))) % 10 == 0


def is_card(digits: str) -> bool:
    """A number some card issuer could have given: its prefix, its length, Luhn's check digit.

    >>> is_card("378282246310005"), is_card("1111111111111117")
    (True, False)
    """
    return _CARD_ISSUERS.fullmatch(digits) is not None and luhn(digits)


def is_iban(number: str) -> bool:
    """The country's length, and ≡ 1 (mod 97) with the first four characters put last, A = 10.

    >>> is_iban("DE89370400440532013000"), is_iban("DE88370400440532013000")
    (True, False)
    """
    if IBAN_LENGTHS.get(number[:2]) != len(number) or not number[2:4].isdigit():
        return False
    turned = number[4:] + number[:4]
    return int("".join(str(int(character, 36)) for character in turned)) % 97 == 1


def is_ssn(digits: str) -> bool:
    """Nine digits that may have been issued; there is no check digit.

    Never issued: areas 000, 666 and 900-999, group 00, serial 0000, two numbers known from adverts.

    >>> is_ssn("219099998"), is_ssn("219099999"), is_ssn("900120001")
    (True, False, False)
    """
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    if area in {"000", "666"} or area[0] == "9" or group == "00" or serial == "0000":
        return False
    return digits not in {"078051120", "219099999"}


def is_german_tax_id(digits: str) -> bool:
    """ISO 7064 mod 11, 10; of the first ten digits one stands there twice or three times.

    >>> is_german_tax_id("86095742719"), is_german_tax_id("86095742718")
    (True, False)
    """
    counts = Counter(digits[:10]).most_common(2)
    if digits[0] == "0" or counts[0][1] not in {2, 3} or counts[1][1] != 1:
        return False
    product = 10
    for digit in digits[:10]:
        product = ((int(digit) + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == int(digits[10])


def is_nir(number: str) -> bool:
    """The last two digits are 97 − n mod 97; Corsica's 2A and 2B count as 19 and 18.

    >>> is_nir("255081416802538"), is_nir("255081416802539")
    (True, False)
    """
    body = number[:13].replace("2A", "19").replace("2B", "18")
    return body.isdigit() and 97 - int(body) % 97 == int(number[13:])


def is_dni(number: str) -> bool:
    """The letter is that of n mod 23; X, Y, Z, where a foreigner's number begins, are 0, 1, 2.

    >>> is_dni("12345678Z"), is_dni("12345678A"), is_dni("X1234567L")
    (True, False, True)
    """
    digits = number[:-1].translate(str.maketrans("XYZ", "012"))
    return digits.isdigit() and _DNI_LETTERS[int(digits) % 23] == number[-1]


def is_codice_fiscale(code: str) -> bool:
    """The last letter is the sum of the others' worth mod 26; a day of birth there can be.

    >>> is_codice_fiscale("RSSMRA85T10A562S"), is_codice_fiscale("RSSMRA85T10A562T")
    (True, False)
    """
    places = [int(c) if c.isdigit() else ord(c) - ord("A") for c in code]
    worth = sum(_CODICE_ODD[place] for place in places[0:15:2]) + sum(places[1:15:2])
    # Of two people with one code, the second has letters for some digits.
    day = int(code[9:11].translate(str.maketrans("LMNPQRSTUV", "0123456789"))) % 40
    return 1 <= day <= 31 and worth % 26 == places[15]


def is_bsn(digits: str) -> bool:
    """The Dutch 11-test: 9·d₁ + 8·d₂ + … + 2·d₈ − d₉ ≡ 0 (mod 11).

    >>> is_bsn("111222333"), is_bsn("111222334")
    (True, False)
    """
    total = sum(
        weight * int(d) for weight, d in zip((9, 8, 7, 6, 5, 4, 3, 2, -1), digits, strict=True)
    )
    return total % 11 == 0 and int(digits) > 0


def is_sin(digits: str) -> bool:
    """Luhn's check digit; no person's number begins with 0 or 8.

    >>> is_sin("130692544"), is_sin("130692545")
    (True, False)
    """
    return digits[0] not in "08" and luhn(digits)


def is_aadhaar(digits: str) -> bool:
    """Verhoeff's check digit; the first digit is neither 0 nor 1.

    >>> is_aadhaar("234123412346"), is_aadhaar("234123412347")
    (True, False)
    """
    check = 0
    for place, digit in enumerate(reversed(digits)):
        check = _DIHEDRAL[check][_PERMUTED[place % 8][int(digit)]]
    return check == 0 and digits[0] not in "01" and len(set(digits)) > 1


def is_cpf(digits: str) -> bool:
    """Two check digits, each from all before it: 10·Σ weight·d mod 11, or 0 if that is 10.

    >>> is_cpf("11144477735"), is_cpf("11144477736")
    (True, False)
    """
    if len(set(digits)) == 1:
        return False
    for place in (9, 10):
        total = sum((place + 1 - i) * int(digit) for i, digit in enumerate(digits[:place]))
        if total * 10 % 11 % 10 != int(digits[place]):
            return False
    return True
