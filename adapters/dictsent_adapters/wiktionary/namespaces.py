"""Namespace and interwiki words as they stand in links of any edition.

Before: nothing (MediaWiki's localisations). After: render hides category and file links.
"""

from __future__ import annotations

# fmt: off
HIDDEN = frozenset(
    (
        "category", "categoría", "categoria", "catégorie", "kategorie", "категория", "категорія", "катэгорыя",
        "категорија", "kategorija", "kategória", "kategoria", "kategori", "kategorî", "kategoriya", "categorie",
        "kategorio", "カテゴリ", "分類", "分类", "분류", "κατηγορία", "קטגוריה", "תצנון", "تصنيف", "رده", "หมวดหมู่",
        "luokka", "kategooria", "flokkur", "sokajy", "rummad", "catagóir", "श्रेणी", "বিষয়শ্রেণী", "வகை",
        "ವರ್ಗ", "వర్గం", "വർഗ്ഗം", "වර්ගය", "kategorya", "cat", "file", "image", "файл", "изображение", "datei",
        "bild", "fichier", "archivo", "imagen", "ficheiro", "imagem", "ficheru", "fitxer", "imatge", "immagine",
        "ファイル", "画像", "文件", "檔案", "图像", "圖像", "파일", "그림", "αρχείο", "εικόνα", "קובץ", "תמונה",
        "ملف", "صورة", "پرونده", "bestand", "afbeelding", "plik", "grafika", "soubor", "obrázek", "súbor", "fil",
        "dosya",
        "resim", "hình", "ไฟล์", "ภาพ", "tiedosto", "kuva", "fișier", "fajl", "berkas", "gambar", "fail",
        "dosiero", "wêne", "pel", "media", "kép", "fájl", "датотека", "слика", "зображення", "выява",
        "thể loại", "tập tin", "tệp tin", "hình ảnh",
    )
)
# fmt: on
"""Links to these show nothing, unless written with a colon in front."""

# fmt: off
INTERWIKI = frozenset(
    (
        "w", "wikipedia", "s", "wikisource", "wikt", "wiktionary", "b", "wikibooks", "q", "wikiquote", "n",
        "wikinews", "v", "wikiversity", "voy", "species", "wikispecies", "commons", "c", "d", "wikidata", "m",
        "meta", "mw", "phab", "wp", "en", "de", "fr", "es", "it", "ja", "zh", "pt", "ru", "nl", "pl", "sv",
        "ko", "la", "el", "tr", "ca", "cs", "da", "no", "fi", "he", "ar", "fa",
    )
)
# fmt: on
"""`[[w:dog]]` shows "dog"."""
