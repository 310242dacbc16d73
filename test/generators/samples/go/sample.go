// Uses the client that openapi-generator makes for Go.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"sample/client"
)

func main() {
	url, token, withCover := os.Args[1], os.Args[2], os.Args[3]
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: url}}
	api := client.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), client.ContextAccessToken, token)

	author := *client.NewBooksDraftAuthor("Jane Austen")
	draft := *client.NewBooksDraft("Emma", author)
	draft.SetYear(1815)
	draft.SetPrice(9.5)
	emma, response, err := api.BooksAPI.CreateBooks(ctx).BooksDraft(draft).IdempotencyKey(`"go"`).Execute()
	check(err)
	etag := response.Header.Get("ETag")
	fmt.Println("created", emma.GetTitle(), emma.GetStatus())

	page, _, err := api.BooksAPI.ListBooks(ctx).YearGte(1800).Sort("-year").Limit(5).Execute()
	check(err)
	fmt.Print("listed ", page.GetTotal())
	for _, book := range page.GetData() {
		fmt.Print(" ", book.GetTitle())
	}
	fmt.Println()

	_, response, _ = api.BooksAPI.GetBooks(ctx, emma.GetId()).IfNoneMatch(etag).Execute()
	fmt.Println("unchanged", response.StatusCode)

	replacement := *client.NewBooksDraft("Emma", author)
	replacement.SetYear(1815)
	replacement.SetStatus("in-print")
	replaced, _, err := api.BooksAPI.ReplaceBooks(ctx, emma.GetId()).BooksDraft(replacement).IfMatch(etag).Execute()
	check(err)
	fmt.Println("replaced", replaced.GetStatus())

	patch := *client.NewBooksPatch()
	patch.SetPrice(12.5)
	patched, _, err := api.BooksAPI.UpdateBooks(ctx, emma.GetId()).BooksPatch(patch).Execute()
	check(err)
	fmt.Println("patched", patched.GetPrice(), patched.GetStatus())

	order := *client.NewBatchOperation("POST", "/orders")
	order.SetBody(map[string]string{"customer": "Ada"})
	remove := *client.NewBatchOperation("DELETE", "/books/"+emma.GetId())
	operations := []client.BatchOperation{order, remove}
	batch, _, err := api.ResourcesAPI.RunBatch(ctx).Batch(*client.NewBatch(operations)).Execute()
	check(err)
	fmt.Print("batch")
	for _, result := range batch.GetResults() {
		fmt.Print(" ", result.GetStatus())
	}
	fmt.Println()

	file, _, err := api.ResourcesAPI.GetFile(ctx, "books", withCover, "cover").Execute()
	check(err)
	defer os.Remove(file.Name())
	bytes, err := io.ReadAll(file)
	check(err)
	fmt.Println("file", string(bytes))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
