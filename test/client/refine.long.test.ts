// The example for Refine with the real package in a real browser: every screen, as a person uses it.
// @runtimes only node

import assert from "node:assert/strict";
import { describe } from "node:test";
import { pictureFile, skip, useExample } from "./example-app.ts";

describe("the example for Refine", { skip }, () => {
  const example = useExample("refine");
  const { screen, go, button, shown } = example;
  const products = () => example.client.collection("products");
  const input = (label: string) => example.page.getByLabel(label).first();
  const expectCells = (field: string, expected: readonly string[]) =>
    example.expectTexts(`tbody td[data-field="${field}"]`, expected);
  const choose = async (...places: readonly number[]) => {
    for (const at of places)
      await example.page.locator("tbody tr").nth(at).getByRole("checkbox").click();
  };
  /** The form is filled in when its record has come. */
  const openForm = async (path: string, name: string) => {
    await go(path);
    await example.page.waitForFunction(
      `document.querySelector("input[name=name]")?.value === ${JSON.stringify(name)}`,
    );
  };

  screen("asks for a token, and refuses a wrong one", async () => {
    await input("Token").fill("rst_wrong");
    await button("Sign in").click();
    await shown("This token is not valid.");
    await button("Close").click();
    await input("Token").fill(example.admin);
    await button("Sign in").click();
    await shown("Page 1 of 3, 25 in all");
  });

  screen("lists products in order and in pages", async () => {
    await expectCells("supplier", Array(10).fill("Clay & Co"));
    await button("Price").click();
    await expectCells("price", ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]);
    await button("Price ↑").click();
    await expectCells("price", ["25", "24", "23", "22", "21", "20", "19", "18", "17", "16"]);
    await button("Next").click();
    await button("Next").click();
    await expectCells("price", ["5", "4", "3", "2", "1"]);
    await button("Previous").click();
    await button("Previous").click();
  });

  screen("searches and filters", async () => {
    await input("Search").fill("jug");
    await shown("5 in all");
    await input("Price from").fill("20");
    await expectCells("price", ["23"]);
    await input("Search").fill("");
    await input("Name contains").fill("MUG");
    await expectCells("price", ["24"]);
    await input("Name contains").fill("");
    await input("Price from").fill("");
    await input("Supplier").selectOption("Iron & Sons");
    await shown("0 in all");
    await input("Supplier").selectOption("Clay & Co");
    await shown("25 in all");
  });

  screen("creates a product with a photo and papers, and shows them", async () => {
    await go("products/create");
    await input("Sku").fill("P-1");
    await input("Name").fill("Vase");
    await input("Price").fill("30");
    await input("Supplier").selectOption("Iron & Sons");
    await input("Photo").setInputFiles([await pictureFile("vase.gif")]);
    await input("Papers").setInputFiles([
      await pictureFile("one.gif"),
      await pictureFile("two.gif"),
    ]);
    await button("Save").click();
    await shown(/must be unique/);
    await input("Sku").fill("V-1");
    await button("Save").click();
    await shown("26 in all");
    const [made] = (await products().list({ where: { sku: "V-1" } })).data;
    assert.deepEqual([made?.price, made?.supplier], [30, "iron"]);
    await go(`products/${made?.id}`);
    await example.page.getByAltText("vase.gif").waitFor();
    await example.page.waitForFunction("[...document.images].every((one) => one.naturalWidth > 0)");
    const link = await example.page.getByRole("link", { name: "two.gif" }).getAttribute("href");
    assert.equal((await fetch(link ?? "")).headers.get("content-type"), "image/gif");
    await openForm(`products/${made?.id}/edit`, "Vase");
    await input("Name").fill("Big vase");
    await button("Save").click();
    await shown("26 in all");
    const now = await products().get(made?.id ?? "");
    assert.deepEqual([now.name, now.photo, now.papers], ["Big vase", made?.photo, made?.papers]);
  });

  screen("overwrites nothing in a conflict: it loads the current state", async () => {
    await openForm("products/p1/edit", "Bowl 01");
    await input("Name").fill("Bowl of mine");
    await products().update("p1", { price: 99 });
    await button("Save").click();
    await shown(/Somebody else has changed this/);
    await shown(/was 1, and is now 99/);
    assert.equal((await products().get("p1")).name, "Bowl 01");
    await button("Load the current state").click();
    await example.page.waitForFunction(
      'document.querySelector("input[name=price]").value === "99"',
    );
    assert.equal(await input("Name").inputValue(), "Bowl 01");
    await input("Name").fill("Bowl of both");
    await button("Save").click();
    await shown("26 in all");
    const { name, price } = await products().get("p1");
    assert.deepEqual([name, price], ["Bowl of both", 99]);
  });

  screen("or puts one's changes over it, and keeps what they changed", async () => {
    await openForm("products/p2/edit", "Cup 02");
    await input("Name").fill("Cup of mine");
    await products().update("p2", { price: 98 });
    await button("Save").click();
    await button("Keep my changes").click();
    await button("Save").click();
    await shown("26 in all");
    const { name, price } = await products().get("p2");
    assert.deepEqual([name, price], ["Cup of mine", 98]);
  });

  screen("changes and deletes many at once, all or none", async () => {
    await button("Price").click();
    await button("Price ↑").click();
    await button("Next").click();
    await expectCells("price", ["18", "17", "16", "15", "14", "13", "12", "11", "10", "9"]);
    await choose(0, 1);
    await button("Sold out").click();
    await expectCells("stock", ["0", "0", ...Array(8).fill("3")]);
    await choose(2, 3);
    await products().update("p15", { stock: 8 });
    await button("Delete").click();
    await shown(/Somebody else has changed one of these/);
    assert.equal(await products().count({ where: { id: { in: ["p15", "p16"] } } }), 2);
    // Refine reads the list again, and the rows are still chosen.
    await expectCells("stock", ["0", "0", "3", "8", ...Array(6).fill("3")]);
    await button("Delete").click();
    await expectCells("price", ["18", "17", "14", "13", "12", "11", "10", "9", "8", "7"]);
    assert.equal(await products().count({ where: { id: { in: ["p15", "p16"] } } }), 0);
  });

  screen("creates an order with lines that refer to products", async () => {
    await go("orders/create");
    await input("Customer").selectOption("Linus");
    await input("Status").selectOption("open");
    await input("Placed").fill("2026-03-09T10:00:00Z");
    await input("Total").fill("8");
    await button("Add a line").click();
    await input("Product").selectOption("Mug 04");
    await input("Quantity").fill("0");
    await button("Save").click();
    await shown("must be at least 1");
    await input("Quantity").fill("2");
    await button("Save").click();
    await expectCells("customer.name", ["Ada", "Eva", "Linus", "Linus"]);
    await example.page.getByRole("link", { name: "2026-03-09" }).click();
    await shown("2 × Mug 04");
    await shown("Order of Linus");
    await go("products/p4");
    await shown("an order of 8");
  });

  screen("filters and sorts orders across a reference", async () => {
    await go("orders");
    await input("Country").fill("DE");
    await expectCells("total", ["10", "20"]);
    await button("Customer").click();
    await button("Customer ↑").click();
    await expectCells("customer.name", ["Eva", "Ada"]);
  });

  screen("says why something cannot be deleted", async () => {
    await go("customers");
    await expectCells("name", ["Ada", "Eva", "Linus"]);
    await choose(0);
    await button("Delete").click();
    await shown(/Other resources refer to this one/);
  });

  screen("asks for a token again when it is no longer valid", async () => {
    await example.page.evaluate('sessionStorage.setItem("shop.token", "rst_gone")');
    await go("orders");
    await input("Token").waitFor();
  });
});
