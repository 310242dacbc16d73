# Uses the client that openapi-generator makes for Python.
import sys

from client import ApiClient, BooksApi, Configuration, ResourcesApi
from client.exceptions import ApiException
from client.models import (
    Batch,
    BatchOperation,
    BooksDraft,
    BooksDraftAuthor,
    BooksPatch,
)

url, token, with_cover = sys.argv[1:]
client = ApiClient(Configuration(host=url, access_token=token))
books, resources = BooksApi(client), ResourcesApi(client)

author = BooksDraftAuthor(name="Jane Austen")
created = books.create_books_with_http_info(
    BooksDraft(title="Emma", author=author, year=1815, price=9.5), idempotency_key='"python"'
)
emma = created.data
etag = {name.lower(): value for name, value in created.headers.items()}["etag"]
print("created", emma.title, emma.status)

page = books.list_books(year_gte=1800, sort="-year", limit=5)
print("listed", page.total, *[book.title for book in page.data])

try:
    books.get_books(emma.id, if_none_match=etag)
except ApiException as error:
    print("unchanged", error.status)

replaced = books.replace_books(
    emma.id,
    BooksDraft(title="Emma", author=author, year=1815, status="in-print"),
    if_match=etag,
)
print("replaced", replaced.status)

patched = books.update_books(emma.id, BooksPatch(price=12.5))
print("patched", patched.price, patched.status)

operations = [
    BatchOperation(method="POST", path="/orders", body={"customer": "Ada"}),
    BatchOperation(method="DELETE", path=f"/books/{emma.id}"),
]
batch = resources.run_batch(Batch(operations=operations))
print("batch", *[result.status for result in batch.results])

print("file", resources.get_file("books", with_cover, "cover").decode())
