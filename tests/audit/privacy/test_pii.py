"""What counts as personal data, and what does not: tiny texts, no model; Presidio if installed."""

from __future__ import annotations

import random
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from take.audit.privacy.pii import ALL_KINDS, find_pii, masked
from take.audit.privacy.pii_presidio import find_pii_presidio
from take.errors import InputError


def found(text: str) -> list[tuple[str, str]]:
    return [(one.kind, text[one.start : one.end]) for one in find_pii([text])]


@pytest.mark.parametrize(
    ("kind", "text", "span"),
    [
        ("email", "Mail jo.doe+x@mail.example.co.uk.", "jo.doe+x@mail.example.co.uk"),
        ("email", "(jo_doe@example.org)", "jo_doe@example.org"),
        ("email", "...jo@example.org...", "jo@example.org"),
        ("email", "jo [at] example [dot] org it is", "jo [at] example [dot] org"),
        ("email", "write to jo @ example.org .", "jo @ example.org"),
        ("email", f"{'a' * 70}@example.org", f"{'a' * 64}@example.org"),
        ("phone", "ring +44 (0)20 7946 0018 today", "+44 (0)20 7946 0018"),
        ("phone", "or 0049 30 901820.", "0049 30 901820"),
        ("phone", "电话+8613800138000号", "+8613800138000"),
        ("phone", "(212) 555-0100x12", "(212) 555-0100"),
        ("phone", "on 212.555.0100 24 hours a day", "212.555.0100"),
        ("phone", "at 020 7946 0018, or", "020 7946 0018"),
        ("phone", "au 01 23 45 67 89.", "01 23 45 67 89"),
        ("phone", "unter 030/9018200 oder", "030/9018200"),
        ("phone", "no (11) 91234-5678 agora", "(11) 91234-5678"),
        ("phone", "call 2125550100 now", "2125550100"),
        ("phone", "Tel.: 555-0100", "555-0100"),
        ("phone", "Please call me at 912 345 678.", "912 345 678"),
        ("iban", "to gb29nwbk60161331926819 please", "gb29nwbk60161331926819"),
        ("iban", "IBAN NL91-ABNA-0417-1643-00 of", "NL91-ABNA-0417-1643-00"),
        ("iban", "on MT86MALT01100ABCDEFGHIJKLMNOPQR.", "MT86MALT01100ABCDEFGHIJKLMNOPQR"),
        ("card", "my 3782 822463 10005, exp 11/27", "3782 822463 10005"),
        ("card", "from 4100 4111 1111 1111 1111 on", "4111 1111 1111 1111"),
        ("card", "5 4111-1111-1111-1111 2 times", "4111-1111-1111-1111"),
        ("ipv4", "from 198.51.100.23:8080 came", "198.51.100.23"),
        ("ipv4", "the server 8.8.8.8 replied", "8.8.8.8"),
        ("ipv6", "[2001:DB8:0:0:8:800:200C:417A]", "2001:DB8:0:0:8:800:200C:417A"),
        ("ipv6", "fe80::1ff:fe23:4567:890a%eth2", "fe80::1ff:fe23:4567:890a"),
        ("ipv6", "it was 2001:db8::1: yes", "2001:db8::1"),
        ("us_ssn", "it is 219-09-9998.", "219-09-9998"),
        ("us_ssn", "SSN: 219099998", "219099998"),
        ("uk_nino", "hers, AB 12 34 56 C, was", "AB 12 34 56 C"),
        ("uk_nino", "ab123456c", "ab123456c"),
        ("de_tax_id", "IdNr 86 095 742 719", "86 095 742 719"),
        ("fr_nir", "n° 2 55 08 14 168 025 38", "2 55 08 14 168 025 38"),
        ("es_dni", "DNI 12.345.678-Z", "12.345.678-Z"),
        ("es_dni", "NIE X-1234567-L", "X-1234567-L"),
        ("it_codice_fiscale", "C.F. RSS MRA 85T10 A562 S", "RSS MRA 85T10 A562 S"),
        ("nl_bsn", "BSN: 1112.22.333", "1112.22.333"),
        ("ca_sin", "with 130-692-544 on it", "130-692-544"),
        ("ca_sin", "with 185-353-000 on it", "185-353-000"),
        ("ca_sin", "SIN 130692544", "130692544"),
        ("in_aadhaar", "2341 2341 2346 on the form", "2341 2341 2346"),
        ("br_cpf", "CPF 111.444.777-35", "111.444.777-35"),
    ],
)
def test_finds(kind: str, text: str, span: str) -> None:
    assert found(text) == [(kind, span)]


@pytest.mark.parametrize(
    "text",
    [
        "a 10 out of 10, and 9.5/10 from me",
        "from 1999 to 2004, 1999-2004, 2004/2005, 1914 - 1918",
        "on 16.11.2004 at 12:30:45, 2004-11-16 12:30, 01-02-2004 10 times, 11/16/2004 1430",
        "won 6-4 6-3 7-6 (7-5), lost 0-6, drew 2-2, 887-567 in nine seasons, 64-62-63-66",
        "for $1,234,567.89, €1.234.567,89, £ 020 7946 0018, 12 345 600 people, 102 310 000",
        "ISO 9001:2015, ISO/IEC 27001:2013, ISO 8601-1:2019, RFC 2616, IEEE 802.16-2004",
        "ISBN 0-306-40615-2, ISBN 0306406152, ISBN 978-3-16-148410-0, ISSN 0317-8471",
        "version 10.4.11.2, v1.2.3.4, 1.2.3.4, section 12.10.3.1, firmware 3.14.15.92, 2.0.0-rc.1",
        "0.0.0.0, 127.0.0.1, 255.255.255.0, 300.1.2.3, 192.168.1.256, 10.1.2.3.4",
        "at 10:20:30, 00:1b:44:11:3a:b7, std::vector, Foo::Bar, A::B, face::cafe, ::1, 1:2",
        "react@16.8.0, icon@2x.png, @handle, f@ck, jo@localhost, 5 @ $10, nick @ nite",
        "see http://example.org/2125550100/02079460018?id=0123456789 and tt0363163",
        "scores of 100-2000, pages 123-4567, 90210-1234, model 555-0100, 123456789, 2147483647",
        "0101 1010 1100 in binary, 3.14159265358979, 1e10, 12383499143743701 bullets",
        "up +1.25 to 102.50, +12.50 1123.45 10.25, +100 000 000 users, +5",
        "2021 2022 2023 2024 2025 were years, 200411161230 a time stamp",
        "only 12345678 A man knows; be 12 34 56 a while; the sin 130692544",
        "mobile phones 2004-12-02, call 20 000 000 people, tel 1999-2004",
        "000-12-3456, 666-12-3456, 900-12-3456, 219-00-9998, 219-09-0000",
        "GB123456A, DA123456A, AB123456E, AO123456A",
    ],
)
def test_what_is_no_personal_data_is_left_alone(text: str) -> None:
    assert found(text) == []


def test_nine_digits_are_a_bsn_only_where_a_word_says_so() -> None:
    assert found("her BSN is 111222333") == [("nl_bsn", "111222333")]
    assert found("row 111222333 of the table") == []


def test_digits_valid_for_two_kinds_go_to_the_one_that_is_named() -> None:
    assert found("44563197203") == found("CPF 44563197203") == [("br_cpf", "44563197203")]
    assert found("Steuer-ID 44563197203") == [("de_tax_id", "44563197203")]
    assert found("CPF none, IdNr 44563197203") == [("de_tax_id", "44563197203")]
    assert found("call 44563197203") == [("phone", "44563197203")]


def test_a_word_does_not_make_a_card_or_an_address_something_else() -> None:
    assert found("call 4111 1111 1111 1111") == [("card", "4111 1111 1111 1111")]
    assert found("contact 198.51.100.23") == [("ipv4", "198.51.100.23")]


def test_numbers_known_from_adverts_are_no_social_security_numbers() -> None:
    assert find_pii(["078-05-1120", "219-09-9999", "SSN 078051120"], ["us_ssn"]) == []


def test_what_one_kind_claims_is_no_finding_of_another_even_if_only_that_is_wanted() -> None:
    text = "pay DE89 3704 0044 0532 0130 00, call 030 9018200"
    assert [one.kind for one in find_pii([text])] == ["iban", "phone"]
    assert [one.start for one in find_pii([text], ["phone"])] == [text.index("030 9")]


@pytest.mark.parametrize(
    ("text", "kind", "span"),
    [
        ("ring (212)\u00a0555\u20110100 now", "phone", "(212)\u00a0555\u20110100"),
        ("ring ２１２-５５５-０１００ now", "phone", "２１２-５５５-０１００"),
        (
            "ring \u200b212\u200b-5\u00ad55-01\ufeff00\u200b.",
            "phone",
            "212\u200b-5\u00ad55-01\ufeff00",
        ),
        ("tel ٠٢٠ ٧٩٤٦ ٠٠١٨", "phone", "٠٢٠ ٧٩٤٦ ٠٠١٨"),
        ("jo＠example．org", "email", "jo＠example．org"),
        ("é\u200b j\u200bo@exam\u2060ple.org é", "email", "j\u200bo@exam\u2060ple.org"),
        ("4111\u20091111\u20091111\u20091111", "card", "4111\u20091111\u20091111\u20091111"),
        ("219–09–9998 — 219", "us_ssn", "219–09–9998"),
        (
            "DE89\u202f3704 0044\u200b 0532 0130 00",
            "iban",
            "DE89\u202f3704 0044\u200b 0532 0130 00",
        ),
    ],
)
def test_places_refer_to_the_original_text(text: str, kind: str, span: str) -> None:
    assert found(text) == [(kind, span)]


@given(st.text() | st.text("0123456789 -.()/+@:aZ\u200b\u00a0－１", max_size=80))
def test_findings_are_ordered_disjoint_and_inside_the_text(text: str) -> None:
    findings = find_pii(["", text])
    places = [place for one in findings for place in (one.start, one.end)]
    assert places == sorted(places)
    assert all(one.row == 1 and 0 <= one.start < one.end <= len(text) for one in findings)
    for one in findings:
        assert masked(text, one.start, one.end) != text[one.start : one.end]


@pytest.mark.parametrize(
    ("whole", "shown"),
    [
        ("jo.doe@mail.example.org", "j…@m….org"),
        ("j@x.org", "…@….org"),
        ("jo [at] example [dot] org", "j…@e….org"),
        ("jo(at)example.org", "j…@e….org"),
        ("4111 1111 1111 1234", "…1234"),
        ("+44 20 7946 0018", "+…018"),
        ("219-09-9998", "…98"),
        ("RSSMRA85T10A562S", "…562S"),
        ("DE89 3704 0044 0532 0130 00", "DE…3000"),
        ("198.51.100.23", "198.…"),
        ("2001:db8::8a2e:370:7334", "2001:…"),
        ("4111\u200b１１１１11111234", "…1234"),
    ],
)
def test_masking_shows_the_kind_and_not_the_content(whole: str, shown: str) -> None:
    text = f"see {whole}!"
    assert masked(text, 4, 4 + len(whole)) == shown


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InputError, match="no kind of PII 'emails'.*did you mean 'email'"):
        find_pii(["x"], ["emails"])


N = 100_000
LONG = {
    "one digit": "1" * N,
    "digits": "1234567890" * (N // 10),
    "at signs": "@" * N,
    "dots": "." * N,
    "colons": ":" * N,
    "parentheses": "(" * N,
    "letters and @": "a" * N + "@",
    "a@": "a@" * (N // 2),
    "a. and @": "@" + "a." * (N // 2),
    "a- and @": "a@" + "a-" * (N // 2),
    "long labels": "x@" + ".".join(["a" * 60] * (N // 61)),
    "spaced digits": "1 " * (N // 2),
    "pairs": "01 " * (N // 3),
    "fours": "4444 " * (N // 5),
    "dotted digits": "1." * (N // 2),
    "in parentheses": "(1" * (N // 2),
    "pluses": "+1" * (N // 2),
    "countries": "DE12 " * (N // 5),
    "short IPv6": "::1 " * (N // 4),
    "words before": "call " + "or " * (N // 6) + "123 4567 " * (N // 18),
    "cards": "4111 1111 1111 1111 " * (N // 20),
    "full-width": "１" * N,
    "zero-width": "1\u200b" * (N // 2),
    "noise": "".join(random.Random(0).choices("0123456789 -.()/+@:aAtelX", k=N)),
    "numbers": "".join(random.Random(1).choices("0123456789    -.", k=N)),
}


@pytest.mark.parametrize("name", LONG)
def test_no_text_takes_long(name: str) -> None:
    """Each takes up to 0.5 s; the bound leaves room for a busy machine. Squares take minutes."""
    started = time.process_time()
    find_pii([LONG[name]])
    assert time.process_time() - started < 2


def test_many_rows_and_long_rows_are_quick() -> None:
    """10,000 rows of 330 characters and 200 of 10 KB, all with years and sums: 0.7 s in total."""
    sentence = "In 2004 the film took $39 million in 2,100 theaters, 3-2 up on the (1999) sequel. "
    rows = [sentence * 4] * 10_000 + [sentence * 125] * 200
    started = time.process_time()
    assert find_pii(rows) == []
    assert time.process_time() - started < 5


def test_presidio_adds_to_what_the_patterns_find() -> None:
    pytest.importorskip("presidio_analyzer")
    texts = [
        "two stars, 6-4 6-3, 2004-2005",
        "j\u200bo@example.org and CPF 111.444.777-35",
        "it is 219.09.9998 from 2001:db8::7334 or 198.51.100.23",
    ]
    spans = [(one.row, one.kind) for one in find_pii_presidio(texts)]
    assert spans == [(1, "email"), (1, "br_cpf"), (2, "us_ssn"), (2, "ipv6"), (2, "ipv4")]
    # A social security number with points is Presidio's alone: the patterns want a word near.
    assert "us_ssn" not in {one.kind for one in find_pii(texts)}
    only = find_pii(texts, ["us_ssn"], engine="presidio")
    assert [texts[one.row][one.start : one.end] for one in only] == ["219.09.9998"]


def test_presidio_finds_nothing_new_in_clean_numbers() -> None:
    pytest.importorskip("presidio_analyzer")
    texts = ["a 10 out of 10", "from 1999 to 2004", "won 6-4 6-3 7-6", "for $1,234,567.89"]
    assert find_pii_presidio(texts) == []


def test_missing_presidio_is_an_error_with_its_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "presidio_analyzer", None)
    with pytest.raises(InputError, match=r"Fix: pip install 'take\[pii\]'"):
        find_pii(["x"], engine="presidio")


def test_all_kinds_are_named_once() -> None:
    assert len(ALL_KINDS) == len(set(ALL_KINDS)) == 16
