"""Finding and reading sentence similarity sets: every form on small files, the published counts on the real ones."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from dictsent.errors import TaskError
from dictsent.evaluate import available
from dictsent.tasks.data import PACKAGED, SEVEN, Choice, Form, choose, find, registry, unknown_fields
from dictsent.tasks.hub import keep_split
from dictsent.tasks.readers import gold_checksum, load_file

RAW = (
    "4.400\tThe cat sat.\tA cat was sitting.\n\tNobody scored this.\tNor that.\n"
    "0\tA dog\u2028barks.\tRain\u0085falls.\n"
)
INPUT = "the cat sat .\ta cat was sitting .\nnobody scored this .\tnor that .\na dog barks .\train falls .\n"
STSB = (
    'main-captions\tMSRvid\t2012test\t0024\t2.500\tA "girl is styling.\tA girl brushes.\n'
    "main-news\tX\t2013\t1\t0.0\tOne.\tTwo.\tlicence\tlink\n"
)
SICK = (
    "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\r\n"
    "6\tNo boy plays\tA group plays\t3.3\tNEUTRAL\r\n7\tA man\tA dog\t1\tNEUTRAL\r\n"
)


def put(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def sets_in(folder: Path, **choice: object):
    sets, _ = available(Choice(**choice), [folder])  # type: ignore[arg-type]
    return {pairs.copy.set.label: pairs for pairs in sets if pairs.copy.set.protocol != "smoke"}


def test_registry_has_no_field_that_nothing_reads():
    rows = tomllib.loads((PACKAGED / "sets.toml").read_text())["set"]
    assert [unknown_fields(row) for row in rows if unknown_fields(row)] == []
    assert [row.name for row in registry() if row.language == "en" and row.protocol in ("", "paper")][:7] == list(SEVEN)
    assert len({(row.label, row.protocol) for row in registry()}) == len(registry())


def test_raw_form_skips_blank_gold_and_keeps_odd_line_separators(tmp_path):
    put(tmp_path, "somewhere/2013/OnWN.test.tsv", RAW)
    pairs = sets_in(tmp_path)["STS13"]
    assert pairs.first == ["The cat sat.", "A dog\u2028barks."]
    assert pairs.second == ["A cat was sitting.", "Rain\u0085falls."]
    assert pairs.gold.tolist() == [4.4, 0.0]
    assert pairs.blank == 1
    assert pairs.copy.variant == "raw"
    assert pairs.notes == ("incomplete: no file for FNWN, headlines",)


def test_msrvid_is_found_under_its_other_name(tmp_path):
    put(tmp_path, "MSRvid.test.raw-from-stsb.tsv", RAW)
    put(tmp_path, "2012/OnWN.test.tsv", RAW)
    assert [subset.name for subset in sets_in(tmp_path)["STS12"].subsets] == ["MSRvid", "OnWN"]


@pytest.mark.parametrize("name", ["STS12-en-test/STS.{}.surprise.OnWN.txt", "STS12-en-test/STS.{}.MSRpar.txt"])
def test_paired_form(tmp_path, name):
    put(tmp_path, name.format("input"), INPUT)
    put(tmp_path, name.format("gs"), "4.400\n\n0\n")
    pairs = sets_in(tmp_path)["STS12"]
    assert pairs.copy.variant == "senteval"
    assert pairs.gold.tolist() == [4.4, 0.0]
    assert pairs.first == ["the cat sat .", "a dog barks ."]


def test_paired_form_with_capitals_is_raw_text(tmp_path):
    put(tmp_path, "sts2014/STS.input.OnWN.txt", INPUT.title())
    put(tmp_path, "sts2014/STS.gs.OnWN.txt", "4.400\n\n0")
    assert sets_in(tmp_path)["STS14"].copy.variant == "raw"


def test_last_gold_may_be_blank(tmp_path):
    put(tmp_path, "STS15-en-test/STS.input.belief.txt", INPUT)
    put(tmp_path, "STS15-en-test/STS.gs.belief.txt", "4.400\n1\n\n")
    assert sets_in(tmp_path)["STS15"].gold.tolist() == [4.4, 1.0]


def test_paired_form_of_unequal_length_is_an_error(tmp_path):
    put(tmp_path, "STS16-en-test/STS.input.headlines.txt", INPUT)
    put(tmp_path, "STS16-en-test/STS.gs.headlines.txt", "4.400\n1\n")
    _, left_out = available(Choice(), [tmp_path])
    reasons = {row.set.label: row.reason for row in left_out}
    assert "3 pairs but 2 lines of scores" in reasons["STS16"]


def test_gold_without_input_is_no_copy(tmp_path):
    put(tmp_path, "STS13-en-test/STS.gs.SMT.txt", "1\n2\n")
    assert sets_in(tmp_path) == {}


def test_stsb_has_seven_or_nine_columns_and_stray_quotes(tmp_path):
    put(tmp_path, "deep/er/sts-test.csv", STSB)
    pairs = sets_in(tmp_path)["STS-B"]
    assert pairs.first == ['A "girl is styling.', "One."]
    assert pairs.second == ["A girl brushes.", "Two."]
    assert pairs.gold.tolist() == [2.5, 0.0]


def test_sick_has_crlf_and_two_protocols(tmp_path):
    for part in ("train", "trial", "test_annotated"):
        put(tmp_path, f"SICK_{part}.txt", SICK)
    assert sets_in(tmp_path)["SICK-R"].second == ["A group plays", "A dog"]
    assert len(sets_in(tmp_path, protocol="mteb")["SICK-R"].gold) == 6


def test_byte_order_mark_and_utf16(tmp_path):
    put(tmp_path, "a/SICK_test_annotated.txt", b"\xef\xbb\xbf" + SICK.encode())
    put(tmp_path, "b/SICK_test_annotated.txt", SICK.encode("utf-16"))
    assert sets_in(tmp_path / "a")["SICK-R"].gold.tolist() == [3.3, 1.0]
    assert sets_in(tmp_path / "b")["SICK-R"].gold.tolist() == [3.3, 1.0]


def test_quoted_columns_may_hold_newlines_and_delimiters(tmp_path):
    put(tmp_path, "stsb-de-test.csv", '"Ja, ""so"" ist es.","Zwei\nZeilen.",5.0\nEin Mann.,Eine Frau.,0.25\n')
    pairs = sets_in(tmp_path)["STSb-multi-mt (de)"]
    assert pairs.first == ['Ja, "so" ist es.', "Ein Mann."]
    assert pairs.second == ["Zwei\nZeilen.", "Eine Frau."]
    put(
        tmp_path,
        "rw/kin_test_with_labels.csv",
        'PairID,Text,Score\nk1,"""Muraho.""\n""Amakuru?""",0.47\nk2,"Yego\nOya",1\n',
    )
    related = sets_in(tmp_path)["SemRel2024 (rw)"]
    assert related.first == ["Muraho.", "Yego"]
    assert related.second == ["Amakuru?", "Oya"]


def test_json_lines_json_array_and_xml(tmp_path):
    record = {"sentence1": "猫がいる。", "sentence2": "猫が座る。", "label": 4.2}
    put(tmp_path, "jsts-v1.3/test-v1.3.json", json.dumps(record, ensure_ascii=False) + "\n")
    array = [{"sentence1": "하나", "sentence2": "둘", "labels": {"label": 1.0, "real-label": 1.04}}]
    put(tmp_path, "klue-sts-v1.1_dev.json", json.dumps(array, indent=1).replace("\n", "\r\n"))
    put(
        tmp_path,
        "assin-ptbr-test_gold.xml",
        "<?xml version='1.0' encoding='utf-8'?><entailment-corpus><pair id='1' similarity='3.25'>"
        "<t>No Brasil.</t><h>Em &amp; no Brasil.</h></pair></entailment-corpus>",
    )
    found = sets_in(tmp_path)
    assert found["JSTS (ja)"].first == ["猫がいる。"]
    assert found["KLUE-STS (ko)"].gold.tolist() == [1.0]
    assert found["KLUE-STS (ko)"].copy.split == "dev"
    assert found["ASSIN (pt-BR)"].second == ["Em & no Brasil."]


def test_faulty_rows_are_counted_with_their_reason(tmp_path):
    good = "".join(f"{i % 6}\tsentence {i}\tother {i}\n" for i in range(60))
    faulty = "x\tshifted\tcolumns\n7\tout of\trange\n3\t\tempty\nno tab at all\n"
    put(tmp_path, "2016/headlines.test.tsv", good + faulty)
    pairs = sets_in(tmp_path)["STS16"]
    assert [row.reason for row in pairs.rejected] == [
        "score is not a number",
        "score outside 0 to 5",
        "empty sentence",
        "1 columns, at least 3 expected",
    ]
    assert pairs.rejected[0].place.endswith("headlines.test.tsv:61")
    assert "4 rows left out in all" in pairs.notes


def test_a_file_that_is_mostly_faulty_is_an_error(tmp_path):
    put(tmp_path, "2016/headlines.test.tsv", "1\tone\tpair\n" + "sentence one\tsentence two\t3\n" * 9)
    with pytest.raises(TaskError, match="9 of 10 rows cannot be used"):
        available(Choice(names=("STS16",)), [tmp_path])


def test_raw_text_is_preferred_and_either_can_be_asked_for(tmp_path):
    put(tmp_path, "a/STS13-en-test/STS.input.OnWN.txt", INPUT)
    put(tmp_path, "a/STS13-en-test/STS.gs.OnWN.txt", "4.400\n\n0\n")
    put(tmp_path, "b/2013/OnWN.test.tsv", RAW)
    assert sets_in(tmp_path)["STS13"].copy.variant == "raw"
    assert sets_in(tmp_path, variant="senteval")["STS13"].copy.variant == "senteval"
    copies, left_out = find(Choice(variant="senteval", names=("STS13",)), [tmp_path / "b"])
    assert copies == []
    assert left_out[0].reason == "only as raw, not as senteval"


def test_a_complete_copy_wins_over_a_preferred_one(tmp_path):
    put(tmp_path, "2013/OnWN.test.tsv", RAW)
    for name in ("FNWN", "OnWN", "headlines"):
        put(tmp_path, f"STS13-en-test/STS.input.{name}.txt", INPUT)
        put(tmp_path, f"STS13-en-test/STS.gs.{name}.txt", "4.400\n\n0\n")
    assert sets_in(tmp_path)["STS13"].copy.variant == "senteval"


def test_what_is_missing_is_said(tmp_path):
    _, left_out = find(Choice(languages=("en",)), [tmp_path])
    reasons = {row.set.label: row.reason for row in left_out}
    assert reasons["STS12"] == "not found (--data names a folder of sets)"
    assert reasons["STSb-multi-mt (en)"] == "holds the pairs of STS-B again; name it to score it"


def test_unknown_folder_set_and_a_set_named_twice(tmp_path):
    with pytest.raises(TaskError, match="no such folder"):
        find(Choice(), [tmp_path / "nowhere"])
    with pytest.raises(TaskError, match="no set is named 'STS99'"):
        find(Choice(names=("STS99",)), [tmp_path])
    with pytest.raises(TaskError, match="named twice"):
        find(Choice(names=("STS12", "sts12")), [tmp_path])


def test_folder_links_in_a_circle_are_followed_once(tmp_path):
    put(tmp_path, "2013/OnWN.test.tsv", RAW)
    (tmp_path / "2013" / "again").symlink_to(tmp_path, target_is_directory=True)
    assert len(sets_in(tmp_path)["STS13"].gold) == 2


def test_not_utf8_is_said_with_the_place(tmp_path):
    path = put(tmp_path, "x.tsv", "3\tcaf\xe9\tbar\n".encode("latin-1"))
    with pytest.raises(TaskError, match="is not UTF-8"):
        load_file(path, Form(reader="columns", paths={}))


def test_mini_sts_is_always_there(tmp_path):
    sets, _ = available(Choice(names=("mini-sts",)), [tmp_path])
    assert {pairs.copy.set.language: len(pairs.gold) for pairs in sets} == dict.fromkeys(
        ("en", "ja", "de", "fr", "es", "zh"), 40
    )
    assert all(pairs.gold.min() < 1 and pairs.gold.max() > 4 and not pairs.notes for pairs in sets)


SEVEN_COUNTS = {
    "STS12": (3108, 10896.8480, [750, 750, 459, 750, 399]),
    "STS13": (1500, 3504.2833, [189, 750, 561]),
    "STS14": (3750, 10542.8754, [450, 300, 750, 750, 750, 750]),
    "STS15": (3000, 7217.7400, [375, 750, 375, 750, 750]),
    "STS16": (1186, 2862.0000, [254, 249, 230, 244, 209]),
    "STS-B": (1379, None, [1379]),
    "SICK-R": (4927, None, [4927]),
}


def test_what_was_fetched_from_the_hub_is_found(tmp_path):
    row = next(row for row in registry() if row.name == "STS13")
    theirs = [{"Sentence_A": "a cat", "Sentence_B": "a dog", "relatedness_score": 2.5, "id": 1}]
    (tmp_path / row.slug).mkdir()
    keep_split(theirs, tmp_path / row.slug / "test.jsonl")
    pairs = sets_in(tmp_path)["STS13"]
    assert (pairs.copy.variant, pairs.first, pairs.gold.tolist()) == ("hub", ["a cat"], [2.5])
    assert pairs.notes == ("1 scored pairs, published were 1500",)
    with pytest.raises(TaskError, match="columns cannot be told: x"):
        keep_split([{"x": 1}], tmp_path / "y.jsonl")


def test_cross_lingual_sets_need_both_languages():
    names = [row.label for row in choose(Choice(languages=("de", "en"), names=("STS17",)))]
    assert names == ["STS17 (en-de)", "STS17 (en)"]
    assert "STS17 (en-de)" not in [row.label for row in choose(Choice(languages=("de",)))]


@pytest.mark.data
@pytest.mark.parametrize("variant", ["raw", "senteval"])
def test_english_counts_and_gold_sums(data_folder, variant):
    found = sets_in(data_folder, names=SEVEN, variant=variant)
    assert list(found) == list(SEVEN)
    for name, (n, total, sizes) in SEVEN_COUNTS.items():
        assert [len(subset.gold) for subset in found[name].subsets] == sizes
        assert len(found[name].gold) == n
        assert total is None or f"{found[name].gold.sum():.4f}" == f"{total:.4f}"
        assert (found[name].notes, found[name].rejected) == ((), [])


@pytest.mark.data
def test_both_forms_agree_on_gold_for_all_pairs(data_folder):
    raw, tokenised = (sets_in(data_folder, names=SEVEN, variant=variant) for variant in ("raw", "senteval"))
    for name in SEVEN[:6]:
        assert tokenised[name].copy.variant == "senteval"
        np.testing.assert_array_equal(raw[name].gold, tokenised[name].gold)
        letters = [["".join(filter(str.isalnum, s.lower())) for s in p[name].first] for p in (raw, tokenised)]
        assert letters[0] == letters[1]


TRANSLATED = ("de", "es", "fr", "it", "ja", "nl", "pl", "pt", "ru", "zh")
MULTI_COUNTS = {
    **{("STSb-multi-mt", code, "dev"): 1500 for code in TRANSLATED},
    **{("STSb-multi-mt", code, "test"): 1379 for code in TRANSLATED},
    ("STS-B", "en", "train"): 5749, ("STS-B", "en", "dev"): 1500, ("STS-B", "en", "test"): 1379,
    ("JSTS", "ja", "dev"): 1457, ("JSTS", "ja", "test"): 1589, ("JSICK", "ja", "test"): 4927,
    ("KorSTS", "ko", "dev"): 1500, ("KorSTS", "ko", "test"): 1379, ("KLUE-STS", "ko", "dev"): 519,
    ("ASSIN", "pt-PT", "test"): 2000, ("ASSIN", "pt-BR", "test"): 2000,
    ("SICK-NL", "nl", "all"): 9840, ("SICK-NL", "nl", "test"): 4906,
    ("STSb-TR", "tr", "dev"): 1500, ("STSb-TR", "tr", "test"): 1379,
    ("RO-STS", "ro", "dev"): 1500, ("RO-STS", "ro", "test"): 1379,
    ("STSb-SV", "sv", "dev"): 1500, ("STSb-SV", "sv", "test"): 1379,
    ("STSb-DE", "de", "dev"): 1500, ("STSb-DE", "de", "test"): 1379,
    ("STSb-Indic", "hi", "dev"): 1500, ("STSb-Indic", "hi", "test"): 1379,
    ("STSb-Indic", "mr", "dev"): 1500, ("STSb-Indic", "mr", "test"): 1379,
    ("MahaSTS", "mr", "dev"): 840, ("MahaSTS", "mr", "test"): 1692,
    ("SICK-R", "en", "train"): 4500, ("SICK-R", "en", "dev"): 500, ("SICK-R", "en", "test"): 4927,
}  # fmt: skip


@pytest.mark.data
def test_counts_of_the_other_languages(data_folder):
    counts, gold = {}, {}
    for split in ("train", "dev", "test", "all"):
        for pairs in available(Choice(split=split), [data_folder])[0]:
            key = (pairs.copy.set.name, pairs.copy.set.language, split)
            counts[key], gold[key] = len(pairs.gold), gold_checksum(pairs.gold)
            assert (pairs.notes, pairs.rejected) == ((), []), key
    assert {key: counts.get(key) for key in MULTI_COUNTS} == MULTI_COUNTS
    assert len([key for key in counts if key[0] == "SemRel2024" and key[2] == "test"]) == 11
    assert ("SemRel2024", "es", "test") not in counts
    translated = [key for key in counts if key[0].startswith(("STSb-multi", "STSb-DE")) and key[2] == "test"]
    assert {gold[key] for key in translated} == {gold["STS-B", "en", "test"]}


@pytest.mark.data
@pytest.mark.parametrize("variant", ["aws", "deepl"])
def test_both_german_translations(data_folder, variant):
    assert sets_in(data_folder, names=("STSb-DE",), variant=variant)["STSb-DE (de)"].copy.variant == variant
