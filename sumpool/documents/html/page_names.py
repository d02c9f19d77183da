"""Names of HTML elements, of roles, and of classes and ids that pages commonly use."""

from typing import Final


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEVER_TEXT: Final = _names(
    "script style template noscript iframe frame frameset object embed applet svg canvas audio video map "
    "head link meta button input select textarea option optgroup datalist progress meter dialog rt rp "
    "annotation annotation-xml"
)
"""Elements without text of the document."""
HEADINGS: Final = _names("h1 h2 h3 h4 h5 h6")
"""Headings."""
BLOCKS: Final = _names(
    "#document html body main article section div p center blockquote figure header footer hgroup "
    "fieldset legend details summary dir aside nav form table thead tbody tfoot tr td th hr ul ol menu dl "
    "address"
)
"""Elements that end the paragraph before them and are followed by another."""
LISTS: Final = _names("ul ol menu dir dl")
"""Lists."""
GROUPS: Final = _names("h1 div section ul ol dl table nav aside footer header form center menu details")
"""Elements that may be a part of a site."""
PAGES: Final = _names("#document html body main article")
"""Elements that are a page or its text."""
VOID: Final = _names("area base br col embed hr img input link meta param source track wbr")
"""Elements without content, which have no end tag."""
SITE_ROLES: Final = _names(
    "navigation banner contentinfo search complementary menu menubar toolbar dialog alertdialog tooltip "
    "doc-toc doc-pagelist doc-index"
)
"""Roles of the parts of a site."""
SITE_WORDS: Final = _names(
    "nav navbar navbars navigation navigator navheader navfooter navpanel navi sitenav subnav sidenav "
    "breadcrumb breadcrumbs sidebar sphinxsidebar sphinxsidebarwrapper sphinxfooter menu topbar masthead "
    "footer colophon cookie cookies consent gdpr advert adverts advertisement ads ad adsense sponsor "
    "sponsored promo share sharing social newsletter subscribe subscription pagination pager paginator "
    "skip skiplink toolbar popup modal login signup related toc tableofcontents lot lof printfooter "
    "catlinks noprint metadata navbox editsection prevnext rellinks comments respond searchbox docnav tagline banner"
)
"""Words of `class` and `id` that name parts of a site and not of its text."""
INTERFACE_NAMES: Final = _names(
    "headerlink anchorlink permalink mw-editsection mw-jump-link sr-only visually-hidden "
    "screen-reader-text linenos lineno linenodiv copybtn u-hidden visuallyhidden"
)
"""Names that belong to the interface wherever they occur."""
CAPTION_NAMES: Final = _names("caption figure-caption admonition-title wp-caption-text")
"""Classes of captions."""
NOTICE_NAMES: Final = _names(
    "legalnotice copyright license licence copyrightinfo trademark "
    "byline by-line article-byline dateline entry-meta post-meta article-meta"
)
"""Classes of licences, copyright notices, and authors and dates of articles."""
