// Uses the client that openapi-generator makes for Kotlin.
import client.apis.BooksApi
import client.apis.ResourcesApi
import client.infrastructure.ApiClient
import client.infrastructure.Success
import client.models.Batch
import client.models.BatchOperation
import client.models.Books
import client.models.BooksDraft
import client.models.BooksDraftAuthor
import client.models.BooksPatch

fun main(args: Array<String>) {
    val (url, token, withCover) = args
    ApiClient.accessToken = token
    val books = BooksApi(url)
    val resources = ResourcesApi(url)

    val author = BooksDraftAuthor(name = "Jane Austen")
    val draft = BooksDraft(title = "Emma", author = author, year = 1815, price = 9.5)
    val created = books.createBooksWithHttpInfo(draft, null, null, "\"kotlin\"") as Success<Books>
    val emma = created.data
    val etag = created.headers.entries.first { it.key.equals("etag", true) }.value.first()
    println("created ${emma.title} ${emma.status?.value}")

    val page = books.listBooks(yearGte = 1800, sort = "-year", limit = 5)
    println("listed ${page.total} ${page.`data`.joinToString(" ") { it.title }}")

    println("unchanged ${books.getBooksWithHttpInfo(emma.id, etag, null).statusCode}")

    val status = BooksDraft.Status.inMinusPrint
    val replacement = BooksDraft(title = "Emma", author = author, year = 1815, status = status)
    val replaced = books.replaceBooks(emma.id, replacement, ifMatch = etag)
    println("replaced ${replaced.status?.value}")

    val patched = books.updateBooks(emma.id, BooksPatch(price = 12.5))
    println("patched ${patched.price} ${patched.status?.value}")

    val order = mapOf("customer" to "Ada")
    val operations = listOf(
        BatchOperation(BatchOperation.Method.POST, "/orders", order),
        BatchOperation(BatchOperation.Method.DELETE, "/books/${emma.id}"),
    )
    val batch = resources.runBatch(Batch(operations))
    println("batch ${batch.results.joinToString(" ") { "${it.status}" }}")

    val file = resources.getFile("books", withCover, "cover")
    println("file ${file.readText()}")
    file.delete()
}
