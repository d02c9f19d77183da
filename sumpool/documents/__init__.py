"""Input documents: files, folders, JSON lines and standard input."""

from sumpool.documents.read import STDIN as STDIN
from sumpool.documents.read import Document as Document
from sumpool.documents.read import read_documents as read_documents
