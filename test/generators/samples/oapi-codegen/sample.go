// Uses the client that oapi-codegen makes.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"sample/client"
)

func main() {
	url, token, withCover := os.Args[1], os.Args[2], os.Args[3]
	ctx := context.Background()
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
	api, err := client.NewClientWithResponses(url, client.WithRequestEditorFn(authorize))
	check(err)

	author := client.BooksDraftAuthor{Name: "Jane Austen"}
	draft := client.BooksDraft{Title: "Emma", Author: author, Year: to(int64(1815)), Price: to(9.5)}
	created, err := api.CreateBooksWithResponse(ctx, &client.CreateBooksParams{IdempotencyKey: to(`"oapi-codegen"`)}, draft)
	check(err)
	emma, etag := created.JSON201, created.HTTPResponse.Header.Get("ETag")
	fmt.Println("created", emma.Title, *emma.Status)

	query := &client.ListBooksParams{YearGte: to(int64(1800)), Sort: to("-year"), Limit: to(int64(5))}
	page, err := api.ListBooksWithResponse(ctx, query)
	check(err)
	fmt.Print("listed ", *page.JSON200.Total)
	for _, book := range page.JSON200.Data {
		fmt.Print(" ", book.Title)
	}
	fmt.Println()

	unchanged, err := api.GetBooksWithResponse(ctx, emma.Id, &client.GetBooksParams{IfNoneMatch: &etag})
	check(err)
	fmt.Println("unchanged", unchanged.StatusCode())

	status := client.BooksDraftStatus("in-print")
	replacement := client.BooksDraft{Title: "Emma", Author: author, Year: to(int64(1815)), Status: &status}
	replaced, err := api.ReplaceBooksWithResponse(ctx, emma.Id, &client.ReplaceBooksParams{IfMatch: &etag}, replacement)
	check(err)
	fmt.Println("replaced", *replaced.JSON200.Status)

	patch := client.BooksPatch{Price: to(12.5)}
	patched, err := api.UpdateBooksWithResponse(ctx, emma.Id, &client.UpdateBooksParams{}, patch)
	check(err)
	fmt.Println("patched", *patched.JSON200.Price, *patched.JSON200.Status)

	operations := client.Batch{Operations: []client.BatchOperation{
		{Method: "POST", Path: "/orders", Body: map[string]string{"customer": "Ada"}},
		{Method: "DELETE", Path: "/books/" + emma.Id},
	}}
	batch, err := api.RunBatchWithResponse(ctx, &client.RunBatchParams{}, operations)
	check(err)
	fmt.Print("batch")
	for _, result := range batch.JSON200.Results {
		fmt.Print(" ", result.Status)
	}
	fmt.Println()

	file, err := api.GetFileWithResponse(ctx, "books", withCover, "cover", &client.GetFileParams{})
	check(err)
	fmt.Println("file", string(file.Body))
}

func to[Value any](value Value) *Value { return &value }

func check(err error) {
	if err != nil {
		panic(err)
	}
}
