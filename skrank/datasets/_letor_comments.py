"""Names of documents, which LETOR files keep in the comments behind their rows."""

import re

# As LETOR writes it: "#docid = GX029-35-5894638 inc = 1 prob = 0.02".
DOCID = re.compile(rb"(?:^|[\s,;])docid[ \t]*[=:][ \t]*(\S+)", flags=re.IGNORECASE)


def document_ids(text: bytes) -> list[str | None]:
    """Return the document of each row of some lines, None where no comment has one.

    It is the word after ``docid =``, or the whole comment if it has no ``docid =``.
    Lines without a row are skipped, as `parse_lines` does.
    """
    ids: list[str | None] = []
    for line in text.split(b"\n"):
        row, _, comment = line.partition(b"#")
        if not row.strip():
            continue
        comment = comment.strip()
        match = DOCID.search(comment)
        name = match[1] if match else comment
        ids.append(name.decode("utf-8", "surrogateescape") or None)
    return ids
