"""scripts/check refuses the phrases of scripts/words.txt in prose, also over a line break, and not in code or generated tables;
and in comments of public headers."""

import runpy

from python_support import ROOT

CHECK = runpy.run_path(str(ROOT / "scripts/check"))

PAGE = """# Told apart

Two speeds are told
apart, and key-points are `told apart` in [code](told%20apart.md).

```
from afar
```

<!-- some bench: begin -->
without a word
<!-- some bench: end -->
<!-- scripts/options -->
without a word
<!-- end -->
Written anew, some
100 hours: a file that is no image, and that is no longer there.
"""


def test_phrases_are_found_where_people_read_prose():
    found = [(line, phrase) for line, phrase, _ in CHECK["wrong_words"](PAGE)]
    assert sorted(found) == [(1, "Told apart"), (3, "told apart"), (4, "key-points"), (16, "anew"), (16, "some"), (17, "that is no")]


def test_comments_of_headers_are_read_without_code_and_quotations():
    code = 'int anew = 1;  ///< whoever calls\n/// Says "anew",\n/// and is told\n/// apart.\nauto told_apart;\n'
    found = [(line, phrase) for line, phrase, _ in CHECK["wrong_words"](CHECK["comments"](code))]
    assert sorted(found) == [(1, "whoever"), (3, "told apart")]


def test_each_says_what_to_write_instead():
    assert all(instead.strip() for _, instead in CHECK["refused_words"]()) and len(CHECK["refused_words"]()) > 15
