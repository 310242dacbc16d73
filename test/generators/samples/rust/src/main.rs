// Uses the client that openapi-generator makes for Rust.
use client::apis::books_api::{self, CreateBooksParams, GetBooksParams, ListBooksParams, ReplaceBooksParams, UpdateBooksParams};
use client::apis::resources_api::{self, GetFileParams, RunBatchParams};
use client::apis::{configuration::Configuration, Error};
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
    let params = CreateBooksParams { books_draft: draft, idempotency_key: Some("\"rust\"".into()), ..Default::default() };
    let emma = books_api::create_books(&api, params).await?;
    println!("created {} {}", emma.title, text(emma.status)?);

    let params = ListBooksParams { sort: Some("-year".into()), limit: Some(5), ..Default::default() };
    let page = books_api::list_books(&api, ListBooksParams { r#where: Some(r#"{"year":{"gte":1800}}"#.into()), ..params }).await?;
    let titles: Vec<String> = page.data.iter().map(|book| book.title.clone()).collect();
    println!("listed {} {}", page.total.flatten().unwrap_or_default(), titles.join(" "));

    // This client does not show ETags, and reports a 304 as an answer whose body has no JSON.
    let id = emma.id.clone();
    let params = GetBooksParams { id: id.clone(), if_none_match: Some("*".into()), ..Default::default() };
    match books_api::get_books(&api, params).await {
        Err(Error::Serde(_)) => println!("unchanged 304"),
        other => println!("{other:?}"),
    }

    let mut replacement = BooksDraft::new("Emma".into(), author);
    replacement.year = Some(1815);
    replacement.status = Some(books_draft::Status::InPrint);
    let params = ReplaceBooksParams { id: id.clone(), books_draft: replacement, if_match: Some("*".into()), ..Default::default() };
    let replaced = books_api::replace_books(&api, params).await?;
    println!("replaced {}", text(replaced.status)?);

    let mut patch = BooksPatch::new();
    patch.price = Some(Some(12.5));
    let params = UpdateBooksParams { id: id.clone(), books_patch: patch, ..Default::default() };
    let patched = books_api::update_books(&api, params).await?;
    println!("patched {} {}", patched.price.unwrap_or_default(), text(patched.status)?);

    let mut order = BatchOperation::new(batch_operation::Method::Post, "/orders".into());
    order.body = Some(Some(serde_json::json!({ "customer": "Ada" })));
    let remove = BatchOperation::new(batch_operation::Method::Delete, format!("/books/{}", emma.id));
    let params = RunBatchParams { batch: Batch::new(vec![order, remove]), ..Default::default() };
    let batch = resources_api::run_batch(&api, params).await?;
    let statuses: Vec<String> = batch.results.iter().map(|result| result.status.to_string()).collect();
    println!("batch {}", statuses.join(" "));

    let params = GetFileParams { collection: "books".into(), id: args[3].clone(), name: "cover".into(), ..Default::default() };
    let file = resources_api::get_file(&api, params).await?;
    println!("file {}", file.text().await?);
    Ok(())
}

/// The text of a JSON string, without its quotation marks.
fn text(value: impl serde::Serialize) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string(&value)?.trim_matches('"').to_string())
}
