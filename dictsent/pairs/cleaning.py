"""Definitions that say nothing, and what clings to ones that do: cross-references, labels, HTML, the headword itself.

Before: dictsent.pairs.selection reads rows. After: a text to train on, or a reason why there is none. Nothing of this
touches the store.
"""

from __future__ import annotations

import re
from html import unescape

_TAGS = (
    "a|abbr|b|bdi|big|blockquote|br|center|cite|code|dd|del|div|dl|dt|em|font|h[1-6]|hr|i|img|ins|kbd|li|math|nowiki|ol|p|"
    "pre|q|ref|rp|rt|ruby|s|small|span|strike|strong|sub|sup|table|tbody|td|th|tr|tt|u|ul|var|wbr"
)
_BLOCK = re.compile(r"<(?:br|hr|p|li|div|td|tr|dd|dt)\b[^<>]*>", re.IGNORECASE)
_HTML = re.compile(rf"</?(?:{_TAGS})(?:\s[^<>]*)?/?>|<!--.*?-->", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:[a-zA-Z]{2,8}|#\d{1,7}|#x[0-9a-fA-F]{1,6});")
_LABELS = re.compile(
    r"^(?:\s*(?:\([^()]{1,60}\)|\[[^\[\]]{1,60}\]|（[^（）]{1,30}）|〔[^〔〕]{1,30}〕|【[^【】]{1,30}】))+\s*[:,]?\s*"
)
_INK = re.compile(r"[^\W_]")

_WORDS = r"[^\s,;:.]+(?:\s[^\s,;:.]+){0,3}"
_TARGET = rf"[\"“”„«‘'*\[(]*{_WORDS}(?:\s*\(?\d+\)?)?[\"“”»’'\])]*\s*[.;]?"
_NUMBER = r"(?:the )?"
# What stands before the other word where nothing stands behind it. Words that begin a definition as well ("see",
# "voir") count only as a reference is printed: with a capital, or with "also".
_REFERENCES = (
    r"[=→⇒➔»]",
    r"See(?: also| under)?:?|see also|SEE|[Cc]f\.?|[Vv]ide|[Qq]\.\s?v\.",
    r"[Ss]iehe(?: auch| unter)?|[Vv]gl\.?|Voir(?: aussi)?|→|Véase(?: también)?|Vedi(?: anche)?|[Zz]ie(?: ook)?|V\.",
    r"[Ss]e även|[Сс]м\.(?: также)?|[Cc]f\.|[Zz]ob\.|[Vv]iz(?: též)?|Βλ\.|[Kk]s\.",
    rf"(?:[A-Za-z-]+ ){{0,2}}(?:plural|singular)(?: form)? of {_NUMBER}",
    rf"(?:simple )?(?:past|present)(?: tense)?(?: form)?(?: and past participle)?(?: participle)? of {_NUMBER}",
    rf"(?:third[- ]person singular(?: simple present)?(?: indicative)?|gerund|comparative|superlative|genitive|dative|"
    rf"accusative|feminine|masculine|neuter|imperative|infinitive|inflection|inflected)(?: form)?(?: singular| plural)?"
    rf" of {_NUMBER}",
    r"(?:[A-Za-z-]+ )?(?:alternative|obsolete|archaic|dated|rare|nonstandard|variant|common|former|eye dialect)"
    r"(?: letter-case| case)? ?(?:spelling|form|variant|capitalization|misspelling)? of",
    r"(?:[A-Za-z-]+ )?(?:mis)?spelling of|variant of",
    r"(?:Nominativ|Genitiv|Dativ|Akkusativ)?,? ?(?:Plural|Singular)(?: Indikativ \w+)?(?: des \w+)?"
    r" (?:von|des Substantivs|der)",
    r"(?:[Pp]luriel|[Ff]éminin|[Mm]asculin|[Ss]ingulier|[Pp]articipe passé|[Vv]ariante(?: orthographique)?) d[eu]|"
    r"(?:[Pp]luriel|[Ff]éminin|[Vv]ariante) d[’']",
    r"(?:[Pp]lural|[Ff]emenino|[Ff]eminino|[Pp]lurale|[Ff]emminile|[Vv]ariante|[Pp]articipio passato) (?:de|di|do|da)",
    r"[Mm]eervoud van|[Oo]böjd form av|[Ff]lertal av|[Мм]н\. ч\. от|[Ll]iczba mnoga od",
)
_REFERENCE = re.compile(rf"(?:{'|'.join(_REFERENCES)})(?:(?<=\w)\s+|(?<!\w)\s*){_TARGET}")
# Scripts without spaces: a short word in quotation marks, or up to the word that means "see".
_QUOTED = r"[「『“《〈][^「『“》〉」』”]{1,20}[」』”》〉]"
_REFERENCE_UNSPACED = re.compile(
    rf"(?:[=＝→⇒☞]\s*\S{{1,20}}|{_QUOTED}(?:を?参照|に同じ|を見よ|の複数形|的复数|的複數|참조)|[^\s、。]{{1,12}}(?:を参照|に同じ|を見よ)"
    rf"|(?:参见|參見|见|見|同)\s*{_QUOTED}|[→⇒]?\s*\S{{1,12}}\s?참조)[。.]?"
)


def without_html(text: str) -> str:
    """The text without HTML tags, comments and entities; "a < b" stays."""
    if "<" in text:
        text = _HTML.sub("", _BLOCK.sub(" ", text))
    if "&" in text:
        text = _ENTITY.sub(lambda found: unescape(found[0]), text)
    return " ".join(text.split())


def without_labels(text: str) -> str:
    """The text without labels in brackets before it, unless there is nothing else: (botany) a plant -> a plant."""
    rest = _LABELS.sub("", text)
    return rest if _INK.search(rest) else text


def is_reference(text: str) -> bool:
    """Whether the text only points to another word: "See dog", "plural of dog", "= dog", "「犬」に同じ"."""
    forms = (text, text[:1].lower() + text[1:])
    return len(text) <= 80 and any(_REFERENCE.fullmatch(f) or _REFERENCE_UNSPACED.fullmatch(f) for f in forms)


def holds_headword(text: str, headword: str) -> bool:
    """Whether the headword stands in the text as a word (or, where words are not spaced, at all)."""
    word = headword.casefold()
    if len(word) < 2 or word not in text.casefold():
        return False
    if _is_unspaced(word):
        return True
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text.casefold()) is not None


def _is_unspaced(word: str) -> bool:
    return any(
        "\u0e00" <= c <= "\u0eff" or "\u1000" <= c <= "\u109f" or "\u1780" <= c <= "\u17ff" for c in word
    ) or any("\u3005" <= c <= "\u30ff" or "\u3400" <= c <= "\u9fff" or c >= "\U00020000" for c in word)
