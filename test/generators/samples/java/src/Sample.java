// Uses the client that openapi-generator makes for Java's own HTTP client.
import client.ApiClient;
import client.ApiException;
import client.api.BooksApi;
import client.api.ResourcesApi;
import client.model.Batch;
import client.model.BatchOperation;
import client.model.BooksDraft;
import client.model.BooksDraftAuthor;
import client.model.BooksPatch;
import java.nio.file.Files;
import java.util.Map;

public class Sample {
  public static void main(String[] args) throws Exception {
    var api = new ApiClient();
    api.updateBaseUri(args[0]);
    api.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + args[1]));
    var books = new BooksApi(api);
    var resources = new ResourcesApi(api);

    var author = new BooksDraftAuthor().name("Jane Austen");
    var draft = new BooksDraft().title("Emma").author(author).year(1815L).price(9.5);
    var created = books.createBooksWithHttpInfo(
        BooksApi.APICreateBooksRequest.newBuilder().booksDraft(draft).idempotencyKey("\"java\"").build());
    var emma = created.getData();
    var etag = created.getHeaders().get("etag").get(0);
    System.out.println("created " + emma.getTitle() + " " + emma.getStatus());

    var page = books.listBooks(
        BooksApi.APIListBooksRequest.newBuilder().yearGte(1800L).sort("-year").limit(5L).build());
    System.out.print("listed " + page.getTotal());
    page.getData().forEach(book -> System.out.print(" " + book.getTitle()));
    System.out.println();

    try {
      books.getBooks(BooksApi.APIGetBooksRequest.newBuilder().id(emma.getId()).ifNoneMatch(etag).build());
    } catch (ApiException unchanged) {
      System.out.println("unchanged " + unchanged.getCode());
    }

    var replacement = new BooksDraft().title("Emma").author(author).year(1815L)
        .status(BooksDraft.StatusEnum.IN_PRINT);
    var replaced = books.replaceBooks(BooksApi.APIReplaceBooksRequest.newBuilder()
        .id(emma.getId()).booksDraft(replacement).ifMatch(etag).build());
    System.out.println("replaced " + replaced.getStatus());

    var patch = new BooksPatch().price(12.5);
    var patched = books.updateBooks(
        BooksApi.APIUpdateBooksRequest.newBuilder().id(emma.getId()).booksPatch(patch).build());
    System.out.println("patched " + patched.getPrice() + " " + patched.getStatus());

    var batch = new Batch()
        .addOperationsItem(new BatchOperation().method(BatchOperation.MethodEnum.POST).path("/orders")
            .body(Map.of("customer", "Ada")))
        .addOperationsItem(new BatchOperation().method(BatchOperation.MethodEnum.DELETE)
            .path("/books/" + emma.getId()));
    var results = resources.runBatch(
        ResourcesApi.APIRunBatchRequest.newBuilder().batch(batch).build());
    System.out.print("batch");
    results.getResults().forEach(result -> System.out.print(" " + result.getStatus()));
    System.out.println();

    var file = resources.getFile(ResourcesApi.APIGetFileRequest.newBuilder()
        .collection("books").id(args[2]).name("cover").build());
    System.out.println("file " + Files.readString(file.toPath()));
    Files.delete(file.toPath());
  }
}
