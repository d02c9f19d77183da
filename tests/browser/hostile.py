"""Texts that try to run scripts, to load something, or to break out of where they stand."""

from itertools import cycle, islice

RUN = "window.ran=1;alert(1)"

PAYLOADS = (
    f"<script>{RUN}</script>",
    f"</title><script>{RUN}</script>",
    f"</style><script>{RUN}</script>",
    f"</p></span></article><script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f"<img src=https://example.org/x.png onload={RUN}>",
    f'" onmouseover="{RUN}" autofocus onfocus="{RUN}" x="',
    f"' onmouseover='{RUN}' autofocus onfocus='{RUN}' x='",
    f"x onmouseover={RUN} autofocus tabindex=1 onfocus={RUN}",
    f"<svg/onload={RUN}>",
    f"<svg><style><img src=x onerror={RUN}></style></svg>",
    f"<math><mtext></form><form><mglyph><style></math><img src onerror={RUN}>",
    f"javascript:{RUN}",
    f"<a href=javascript:{RUN} id=s1>x</a>",
    "data:text/html,<script>parent.ran=1</script>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    "<meta http-equiv=refresh content='0;url=https://example.org/'>",
    "<base href=https://example.org/>",
    "<link rel=stylesheet href=https://example.org/x.css>",
    "<style>@import url(https://example.org/x.css); body { background: url(https://example.org/x) }</style>",
    "; } body { background: url(https://example.org/x) } a {",
    "<!-- <!--> --!> <![CDATA[ ]]> <?php ?>",
    f"&lt;script&gt;{RUN}&lt;/script&gt; &#60;script&#62; &NewLine; &amp;",
    "\u202e\u2066reversed\u2069 \u200f\u061c <b>",
    "nul\x00 escape\x1b[31m bell\x07 lone\ud800 \ufffe",
    "{{7*7}} ${7*7} $title $body %s {0} #{7*7} <%= 7*7 %>",
    f"<textarea><script>{RUN}</script>",
    f"<noscript><p title='</noscript><img src=x onerror={RUN}>'>",
    f"+ADw-script+AD4-{RUN}+ADw-/script+AD4-",
    f"<template><script>{RUN}</script></template><details open ontoggle={RUN}>",
    f"<input autofocus onfocus={RUN}><form action=https://example.org><button autofocus>",
    f"<object data=javascript:{RUN}></object><embed src=https://example.org/x>",
    "#s1 heat1 d0 document :target { }",
    "../../../etc/passwd\\..\\con.html?x=<b>#y",
    "long" * 25_000,
    "<b>" * 2_000,
    "\U0001f600\u0301\u0301\u0301" * 300 + f"<script>{RUN}</script>",
)

DOCUMENTS = 200


def hostile_texts(number: int, count: int) -> list[str]:
    """Texts of a hostile document: other payloads in other places for every number."""
    start = number * 7 % len(PAYLOADS)
    texts = list(islice(cycle(PAYLOADS), start, start + count))
    return [text if (number + place) % 3 else f"Hosts send {text} packets. " * 2 for place, text in enumerate(texts)]
