"""Documents to summarise: files, folders, JSON lines and stdin."""

from sumpool.documents.read import STDIN as STDIN
from sumpool.documents.read import Document as Document
from sumpool.documents.read import read_documents as read_documents
