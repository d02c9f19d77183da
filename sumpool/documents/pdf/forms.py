"""Forms and typed notes of PDF files: what was filled in becomes text of its page.

PDFium draws a field or a note into the page (flattening) where it stands.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pypdfium2_raw import bindings as pdfium

from sumpool.documents.pdf.fonts import Handle

_TEXT: Final = (pdfium.FPDF_FORMFIELD_TEXTFIELD, pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX)
_XFA: Final = (pdfium.FORMTYPE_XFA_FULL, pdfium.FORMTYPE_XFA_FOREGROUND)
_HIDDEN: Final = 2


@contextmanager
def open_form(document: Handle) -> Iterator[Handle | None]:
    """Open the form of a document; None if it has none.

    Raises:
        ValueError: If the form is one whose pages only ask the reader to wait; the message lacks the subject.
    """
    kind = pdfium.FPDF_GetFormType(document)
    if kind == pdfium.FORMTYPE_NONE:
        yield None
        return
    if kind in _XFA and not any(_has_fields(document, number) for number in range(pdfium.FPDF_GetPageCount(document))):
        raise ValueError("must have its text on its pages, got an XFA form; print it to a new PDF file first")
    callbacks = pdfium.FPDF_FORMFILLINFO(version=2)  # must live as long as the form
    form = pdfium.FPDFDOC_InitFormFillEnvironment(document, callbacks)
    try:
        yield form or None
    finally:
        if form:
            pdfium.FPDFDOC_ExitFormFillEnvironment(form)


def load_page(document: Handle, form: Handle | None, number: int) -> Handle:
    """Load a page with the text of its fields and typed notes; null if it is damaged.

    Args:
        document: Document of PDFium.
        form: Form of the document.
        number: Number of the page, from 0.
    """
    page = pdfium.FPDF_LoadPage(document, number)
    if not page or pdfium.FPDFPage_GetAnnotCount(page) < 1:
        return page
    if form:
        pdfium.FORM_OnAfterLoadPage(page, form)  # draws fields that no program has drawn
    is_filled = _prepare(page, form)
    if is_filled:
        pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY)
    if form:
        pdfium.FORM_OnBeforeClosePage(page, form)
    if not is_filled:
        return page
    pdfium.FPDF_ClosePage(page)
    return pdfium.FPDF_LoadPage(document, number)


def _prepare(page: Handle, form: Handle | None) -> bool:
    """Return whether a page has fields or typed notes; hide everything else that would be drawn."""
    found = False
    for index in range(pdfium.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        kind = pdfium.FPDFAnnot_GetSubtype(annotation)
        is_field = kind == pdfium.FPDF_ANNOT_WIDGET and form is not None
        if kind == pdfium.FPDF_ANNOT_FREETEXT or (
            is_field and pdfium.FPDFAnnot_GetFormFieldType(form, annotation) in _TEXT
        ):
            found = True
        else:
            pdfium.FPDFAnnot_SetFlags(annotation, pdfium.FPDFAnnot_GetFlags(annotation) | _HIDDEN)
        pdfium.FPDFPage_CloseAnnot(annotation)
    return found


def _has_fields(document: Handle, number: int) -> bool:
    page = pdfium.FPDF_LoadPage(document, number)
    if not page:
        return False
    annotations = [pdfium.FPDFPage_GetAnnot(page, index) for index in range(pdfium.FPDFPage_GetAnnotCount(page))]
    found = any(pdfium.FPDFAnnot_GetSubtype(annotation) == pdfium.FPDF_ANNOT_WIDGET for annotation in annotations)
    for annotation in annotations:
        pdfium.FPDFPage_CloseAnnot(annotation)
    pdfium.FPDF_ClosePage(page)
    return found
