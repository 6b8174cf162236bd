# SPDX-License-Identifier: Apache-2.0
"""Reads the data inside a page by docs/development/page-data.md alone, without the C++ writer or the page's
app. Small and slow on purpose; for tests."""

import base64
import gzip
import html.parser
import json
import struct


def in_ascii(text):
    """A sentence of the page, or None, in the glyphs of run.db and terminals (report/glyphs.h)."""
    for glyph, plain in (("\u00b5s", "us"), ("\u00d7", "x"), ("\u2192", "->"), ("\u2212", "-")):
        text = text and text.replace(glyph, plain)
    return text


class _Scripts(html.parser.HTMLParser):
    """All <script> elements: (attributes, text)."""

    def __init__(self):
        super().__init__(convert_charrefs=False)
        self.scripts = []
        self._open = None
        self.policy = None

    def handle_starttag(self, tag, attrs):
        if tag == "script":
            self._open = (dict(attrs), [])
        attrs = dict(attrs)
        if tag == "meta" and attrs.get("http-equiv") == "Content-Security-Policy":
            self.policy = attrs["content"]

    def handle_endtag(self, tag):
        if tag == "script" and self._open:
            self.scripts.append((self._open[0], "".join(self._open[1])))
            self._open = None

    def handle_data(self, data):
        if self._open:
            self._open[1].append(data)


class Page:
    def __init__(self, text):
        parser = _Scripts()
        parser.feed(text)
        parser.close()
        self.policy = parser.policy
        self.code = [t for a, t in parser.scripts if "type" not in a]
        self._by_id = {a["id"]: t for a, t in parser.scripts if "id" in a}
        self.summary = json.loads(self._by_id["xlatrace-summary"])
        self.index = json.loads(self._by_id["xlatrace-index"])
        if self.index["format"]["major"] != 1:
            raise ValueError(f"format {self.index['format']}")
        self.meta = self.index["meta"]
        self._blocks = {}
        self._strings = None

    @classmethod
    def open(cls, path):
        with open(path, encoding="utf-8", newline="") as file:
            return cls(file.read())

    def block(self, number):
        if number not in self._blocks:
            coded = base64.b64decode(self._by_id[f"xlatrace-block-{number}"], validate=True)
            data = gzip.decompress(coded)
            entry = next(b for b in self.index["blocks"] if b["block"] == number)
            if len(data) != entry["bytes"]:
                raise ValueError(f"block {number}: {len(data)} bytes, not {entry['bytes']}")
            self._blocks[number] = data
        return self._blocks[number]

    def strings(self):
        if self._strings is None:
            self._strings = [row["text"] for row in self._rows("strings")]
        return self._strings

    def rows(self, table):
        """Rows as dicts; refs are row numbers, text and words are text, NULL is None."""
        return self._rows(table)

    def _rows(self, table):
        entry = self.index["tables"].get(table)
        if entry is None:
            return []
        rows = []
        for chunk in entry.get("chunks", [entry]):
            columns = self._columns(chunk)
            rows += [dict(zip(columns, cells)) for cells in zip(*columns.values())]
        if len(rows) != entry["rows"]:
            raise ValueError(f"{table}: {len(rows)} rows, not {entry['rows']}")
        return rows

    def chunks(self, table):
        """(entry, columns as lists) of each chunk."""
        for chunk in self.index["tables"].get(table, {}).get("chunks", []):
            yield chunk, self._columns(chunk)

    def _columns(self, chunk):
        data = self.block(chunk["block"])
        columns = {}
        for column in chunk["columns"]:
            if column["type"] != "blob":
                columns[column["name"]] = self._values(data, column, chunk["rows"])
        for column in chunk["columns"]:
            if column["type"] == "blob":
                at, texts = column["at"], []
                for length in columns[column["lengths"]]:
                    texts.append(None if length is None else data[at : at + length].decode())
                    at += length or 0
                if at != column["at"] + column["bytes"]:
                    raise ValueError(f"blob {column['name']}: {at - column['at']} bytes")
                columns[column["name"]] = texts
        return columns

    def _values(self, data, column, rows):
        at = column["at"]
        nulls = [False] * rows
        if column.get("nulls"):
            nulls = [bool(data[at + i // 8] >> i % 8 & 1) for i in range(rows)]
            at += (rows + 7) // 8
        width = 8 if column["type"] == "real" else column["width"]
        planes = [data[at + k * rows : at + (k + 1) * rows] for k in range(width)]
        values, before = [], 0
        for i in range(rows):
            if nulls[i]:
                values.append(None)
                continue
            raw = bytes(plane[i] for plane in planes)
            if column["type"] == "real":
                values.append(struct.unpack("<d", raw)[0])
                continue
            value = column["min"] + column["step"] * int.from_bytes(raw, "little")
            if column.get("delta"):
                value = before = before + value
            values.append(value)
        if column["type"] == "word":
            return [None if v is None else column["words"][v] for v in values]
        if column["type"] == "text":
            texts = self.strings()
            return [None if v is None else texts[v] for v in values]
        return values
