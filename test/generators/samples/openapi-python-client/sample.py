# Uses the client that openapi-python-client makes.
import sys

from client import AuthenticatedClient
from client.api.books import create_books, get_books, list_books, replace_books, update_books
from client.api.resources import get_file, run_batch
from client.models import (
    Batch,
    BatchOperation,
    BatchOperationMethod,
    BooksDraft,
    BooksDraftAuthor,
    BooksDraftStatus,
    BooksPatch,
)

url, token, with_cover = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=token)

author = BooksDraftAuthor(name="Jane Austen")
created = create_books.sync_detailed(
    client=client,
    body=BooksDraft(title="Emma", author=author, year=1815, price=9.5),
    idempotency_key='"openapi-python-client"',
)
emma = created.parsed
print("created", emma.title, emma.status.value)

page = list_books.sync(client=client, yeargte=1800, sort="-year", limit=5)
print("listed", page.total, *[book.title for book in page.data])

unchanged = get_books.sync_detailed(emma.id, client=client, if_none_match=created.headers["ETag"])
print("unchanged", unchanged.status_code.value)

replaced = replace_books.sync(
    emma.id,
    client=client,
    body=BooksDraft(title="Emma", author=author, year=1815, status=BooksDraftStatus.IN_PRINT),
    if_match=created.headers["ETag"],
)
print("replaced", replaced.status.value)

patched = update_books.sync(emma.id, client=client, body=BooksPatch(price=12.5))
print("patched", patched.price, patched.status.value)

order = BatchOperation(BatchOperationMethod.POST, "/orders", {"customer": "Ada"})
remove = BatchOperation(BatchOperationMethod.DELETE, f"/books/{emma.id}")
batch = run_batch.sync(client=client, body=Batch(operations=[order, remove]))
print("batch", *[result.status for result in batch.results])

file = get_file.sync("books", with_cover, "cover", client=client)
print("file", file.payload.read().decode())
