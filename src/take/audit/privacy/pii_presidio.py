"""Microsoft Presidio's recognisers in addition to the patterns of `pii`; needs take[pii].

Only its recognisers by form run: none needs a trained model, and nothing is fetched. Presidio needs
a spaCy pipeline for the words around a finding: an empty one is enough.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from importlib import import_module
from typing import Any

from take.audit.privacy.pii import ALL_KINDS, PiiFinding, check_kinds, find_pii, without_overlap
from take.errors import InputError
from take.text.normalise import fold_to_ascii

_LANGUAGE = "en"
# Presidio's entities: our kind, and the class that finds it. A colon makes an IP address IPv6.
# There is none for fr_nir, nl_bsn and br_cpf.
_RECOGNISERS = {
    "EMAIL_ADDRESS": ("email", "EmailRecognizer"),
    "PHONE_NUMBER": ("phone", "PhoneRecognizer"),
    "IBAN_CODE": ("iban", "IbanRecognizer"),
    "CREDIT_CARD": ("card", "CreditCardRecognizer"),
    "IP_ADDRESS": ("ipv4", "IpRecognizer"),
    "US_SSN": ("us_ssn", "UsSsnRecognizer"),
    "UK_NINO": ("uk_nino", "UkNinoRecognizer"),
    "DE_TAX_ID": ("de_tax_id", "DeTaxIdRecognizer"),
    "ES_NIF": ("es_dni", "EsNifRecognizer"),
    "ES_NIE": ("es_dni", "EsNieRecognizer"),
    "IT_FISCAL_CODE": ("it_codice_fiscale", "ItFiscalCodeRecognizer"),
    "CA_SIN": ("ca_sin", "CaSinRecognizer"),
    "IN_AADHAAR": ("in_aadhaar", "InAadhaarRecognizer"),
}
# What Presidio itself gives a phone number of a right form; weaker patterns score less.
_LEAST_SCORE = 0.4


def find_pii_presidio(texts: Sequence[str], kinds: Collection[str] = ALL_KINDS) -> list[PiiFinding]:
    """What `find_pii` finds, and what Presidio finds with a high enough score."""
    check_kinds(kinds)
    analyzer = _analyzer()
    found_by_row = defaultdict(list)
    for finding in find_pii(texts):
        found_by_row[finding.row].append(finding)
    for row, text in enumerate(texts):
        folded = fold_to_ascii(text)
        for one in analyzer.analyze(folded.text, _LANGUAGE, score_threshold=_LEAST_SCORE):
            span = folded.original(one.start, one.end)
            found_by_row[row].append(PiiFinding(row, _kind(one, folded.text), *span))
    wanted = frozenset(kinds)
    return [
        finding
        for row, found in sorted(found_by_row.items())
        for finding in without_overlap(texts[row], found)
        if finding.kind in wanted
    ]


def _kind(found: Any, text: str) -> str:
    kind = _RECOGNISERS[found.entity_type][0]
    return "ipv6" if kind == "ipv4" and ":" in text[found.start : found.end] else kind


def _analyzer() -> Any:
    try:
        presidio = import_module("presidio_analyzer")
        predefined = import_module("presidio_analyzer.predefined_recognizers")
        nlp_engines = import_module("presidio_analyzer.nlp_engine")
        spacy, tldextract = import_module("spacy"), import_module("tldextract")
    except ImportError as error:
        raise InputError(
            "the PII engine 'presidio' needs presidio-analyzer, which is not installed",
            allowed="'patterns' needs nothing",
            remedy="pip install 'take[pii]'",
        ) from error

    registry = presidio.RecognizerRegistry(supported_languages=[_LANGUAGE])
    # Presidio's own check would fetch the list of top-level domains; the package carries one.
    domains = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
    for _, name in _RECOGNISERS.values():
        recogniser = getattr(predefined, name)(supported_language=_LANGUAGE)
        if name == "EmailRecognizer":
            recogniser.validate_result = lambda address: domains(address).fqdn != ""
        registry.add_recognizer(recogniser)
    # An engine that has a pipeline loads none.
    engine = nlp_engines.SpacyNlpEngine()
    engine.nlp = {_LANGUAGE: spacy.blank(_LANGUAGE)}
    return presidio.AnalyzerEngine(
        registry=registry, nlp_engine=engine, supported_languages=[_LANGUAGE]
    )
