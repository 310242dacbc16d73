// The example for react-admin with the real package in a real browser: every screen, as a person uses it.
// @runtimes only node

import assert from "node:assert/strict";
import { describe } from "node:test";
import { pictureFile, skip, useExample } from "./example-app.ts";

describe("the example for react-admin", { skip }, () => {
  const example = useExample("react-admin");
  const { screen, go, button, shown } = example;
  const products = () => example.client.collection("products");
  const rows = () => example.page.locator("tbody tr");
  const expectCells = (source: string, expected: readonly string[]) =>
    example.expectTexts(`tbody td[class~="column-${source}"]`, expected);
  /** Of a form or a filter, by the source of the input. */
  const input = (source: string) =>
    example.page.locator(`[class~="ra-input-${source}"] input`).first();

  const choose = async (source: string, text: string) => {
    await input(source).fill(text);
    await example.page.getByRole("option", { name: text }).click();
  };

  const attach = async (source: string, ...names: readonly string[]) => {
    const files = await Promise.all(names.map(pictureFile));
    await example.page.locator(`.ra-input-${source} input[type=file]`).setInputFiles(files);
  };

  screen("asks for a token, and refuses a wrong one", async () => {
    await input("token").fill("rst_wrong");
    await button("Sign in").click();
    await shown("This token is not valid.");
    await input("token").fill(example.admin);
    await button("Sign in").click();
    await rows().first().waitFor();
  });

  screen("lists products in order and in pages", async () => {
    await shown("1-10 of 25");
    await expectCells("supplier", Array(10).fill("Clay & Co"));
    await button(/Sort by price/i).click();
    await expectCells("price", ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]);
    await button(/Sort by price/i).click();
    await expectCells("price", ["25", "24", "23", "22", "21", "20", "19", "18", "17", "16"]);
    await button("Go to page 3").click();
    await expectCells("price", ["5", "4", "3", "2", "1"]);
  });

  screen("searches and filters", async () => {
    await input("q").fill("jug");
    await shown("1-5 of 5");
    await input("q").fill("");
    await shown(/of 25/);
    await button("Add filter").click();
    await example.page.getByRole("menuitemcheckbox", { name: "Price from" }).click();
    await input("price_gte").fill("24");
    await expectCells("price", ["25", "24"]);
    await button("Remove this filter").click();
    await shown(/of 25/);
  });

  screen("creates a product with a photo and papers, and shows them", async () => {
    await go("products/create");
    await input("sku").fill("P-1");
    await input("name").fill("Vase");
    await input("price").fill("30");
    await choose("supplier", "Iron & Sons");
    await attach("photo", "vase.gif");
    await attach("papers", "one.gif", "two.gif");
    await button("Save").click();
    await shown(/another product|unique|already/i);
    await input("sku").fill("V-1");
    await button("Save").click();
    await shown("Iron & Sons");
    await example.page.locator('img[title="vase.gif"]').waitFor();
    await example.page.waitForFunction("[...document.images].every((one) => one.naturalWidth > 0)");
    const link = await example.page.getByRole("link", { name: "two.gif" }).getAttribute("href");
    assert.equal((await fetch(link ?? "")).headers.get("content-type"), "image/gif");
    const [made] = (await products().list({ where: { sku: "V-1" } })).data;
    assert.deepEqual([made?.price, made?.supplier], [30, "iron"]);
  });

  screen("adds and removes files", async () => {
    const [made] = (await products().list({ where: { sku: "V-1" } })).data;
    await go(`products/${made?.id}`);
    await example.page.getByText("one.gif").waitFor();
    await attach("papers", "three.gif");
    await example.page.locator(".ra-input-photo").getByRole("button", { name: "Delete" }).click();
    await button("Save").click();
    await rows().first().waitFor();
    const now = await products().get(made?.id ?? "");
    const names = (now.papers as { name: string }[]).map(({ name }) => name);
    assert.deepEqual([names, now.photo], [["one.gif", "two.gif", "three.gif"], undefined]);
  });

  screen("overwrites nothing in a conflict: it loads the current state", async () => {
    await go("products/p1");
    await input("name").fill("Bowl of mine");
    await products().update("p1", { price: 99 });
    await button("Save").click();
    await shown(/Somebody else has changed this/);
    await shown(/was 1, and is now 99/);
    assert.equal((await products().get("p1")).name, "Bowl 01");
    await button("Load the current state").click();
    await example.page.waitForFunction(
      'document.querySelector("input[name=price]").value === "99"',
    );
    assert.equal(await input("name").inputValue(), "Bowl 01");
    await input("name").fill("Bowl of both");
    await button("Save").click();
    await rows().first().waitFor();
    const { name, price } = await products().get("p1");
    assert.deepEqual([name, price], ["Bowl of both", 99]);
  });

  screen("or puts one's changes over it, and keeps what they changed", async () => {
    await go("products/p2");
    await input("name").fill("Cup of mine");
    await products().update("p2", { price: 98 });
    await button("Save").click();
    await button("Keep my changes").click();
    await button("Save").click();
    await rows().first().waitFor();
    const { name, price } = await products().get("p2");
    assert.deepEqual([name, price], ["Cup of mine", 98]);
  });

  screen("changes and deletes many at once, all or none", async () => {
    await go("products?filter={}&sort=price&order=DESC&page=2&perPage=10");
    await expectCells("price", ["18", "17", "16", "15", "14", "13", "12", "11", "10", "9"]);
    const select = async (...places: readonly number[]) => {
      for (const at of places) await rows().nth(at).getByRole("checkbox").click();
    };
    await select(0, 1);
    await button("Sold out").click();
    await button("Confirm").click();
    await expectCells("stock", ["0", "0", ...Array(8).fill("3")]);

    await select(2, 3);
    await products().update("p15", { stock: 8 });
    await button("Delete").click();
    await button("Confirm").click();
    await shown(/Somebody else has changed one of these/);
    assert.equal(await products().count({ where: { id: { in: ["p15", "p16"] } } }), 2);

    await expectCells("stock", ["0", "0", "3", "8", ...Array(6).fill("3")]);
    await button("Delete").click();
    await button("Confirm").click();
    // react-admin takes the deleted rows away, and fills the page when it reads it again.
    await expectCells("price", ["18", "17", "14", "13", "12", "11", "10", "9"]);
    assert.equal(await products().count({ where: { id: { in: ["p15", "p16"] } } }), 0);
  });

  screen("creates an order with lines that refer to products", async () => {
    await go("orders/create");
    await choose("customer", "Linus");
    await choose("product", "Mug 04");
    await input("quantity").fill("2");
    await input("total").fill("8");
    await button("Save").click();
    await shown("Mug 04");
    await shown("Linus");
    await go("products/p4/show");
    await shown("Sold in");
    await expectCells("customer", ["Linus"]);
    await go("customers/linus/show");
    await expectCells("total", ["30", "8"]);
  });

  screen("filters and sorts orders across a reference", async () => {
    await go("orders");
    await rows().nth(3).waitFor();
    await input("customer.country").fill("DE");
    await expectCells("total", ["20", "10"]);
    await input("customer.country").fill("");
    await rows().nth(3).waitFor();
    await button(/Sort by customer/i).click();
    await expectCells("customer.name", ["Ada", "Eva", "Linus", "Linus"]);
  });

  screen("says why something cannot be deleted", async () => {
    await go("customers");
    await rows().first().getByRole("checkbox").click();
    await button("Delete").click();
    await button("Confirm").click();
    await shown(/orders/);
    await expectCells("name", ["Ada", "Eva", "Linus"]);
  });

  screen("asks for a token again when it is no longer valid", async () => {
    await example.page.evaluate('sessionStorage.setItem("shop.token", "rst_gone")');
    await go("suppliers");
    await input("token").waitFor();
  });
});
