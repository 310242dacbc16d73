// Uses the client that openapi-generator makes for Rust.
use client::apis::{books_api, configuration::Configuration, resources_api, Error};
use client::models::{batch_operation, books_draft, Batch, BatchOperation, BooksDraft, BooksDraftAuthor, BooksPatch};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let mut api = Configuration::new();
    api.base_path = args[1].clone();
    api.bearer_access_token = Some(args[2].clone());

    let author = BooksDraftAuthor::new("Jane Austen".into());
    let mut draft = BooksDraft::new("Emma".into(), author.clone());
    draft.year = Some(1815);
    draft.price = Some(9.5);
    let emma = books_api::create_books(&api, draft, None, Some("\"rust\""), None).await?;
    println!("created {} {}", emma.title, text(emma.status)?);

    // This client takes parameters by position, which the shorter list of any collection makes bearable.
    let page = resources_api::list_resources(
        &api, "books", None, Some(1), Some("-createdAt"), None, None, None, None, None, None, None, None,
    )
    .await?;
    let books = page.data.unwrap_or_default();
    assert_eq!(books[0].id, emma.id);
    println!("listed {} {}", books.len(), emma.title);

    // This client does not show ETags, and reports a 304 as an answer whose body has no JSON.
    match books_api::get_books(&api, &emma.id, Some("*"), None).await {
        Err(Error::Serde(_)) => println!("unchanged 304"),
        other => println!("{other:?}"),
    }

    let mut replacement = BooksDraft::new("Emma".into(), author);
    replacement.year = Some(1815);
    replacement.status = Some(books_draft::Status::InPrint);
    let replaced = books_api::replace_books(&api, &emma.id, replacement, Some("*"), None, None, None).await?;
    println!("replaced {}", text(replaced.status)?);

    let mut patch = BooksPatch::new();
    patch.price = Some(Some(12.5));
    let patched = books_api::update_books(&api, &emma.id, patch, None, None, None, None).await?;
    println!("patched {} {}", patched.price.unwrap_or_default(), text(patched.status)?);

    let mut order = BatchOperation::new(batch_operation::Method::Post, "/orders".into());
    order.body = Some(Some(serde_json::json!({ "customer": "Ada" })));
    let remove = BatchOperation::new(batch_operation::Method::Delete, format!("/books/{}", emma.id));
    let batch = resources_api::run_batch(&api, Batch::new(vec![order, remove]), None, None).await?;
    let statuses: Vec<String> = batch.results.iter().map(|result| result.status.to_string()).collect();
    println!("batch {}", statuses.join(" "));

    let file = resources_api::get_file(&api, "books", &args[3], "cover", None, None, None, None, None).await?;
    println!("file {}", file.text().await?);
    Ok(())
}

/// The text of a JSON string, without its quotation marks.
fn text(value: impl serde::Serialize) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string(&value)?.trim_matches('"').to_string())
}
