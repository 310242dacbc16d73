// Tries rules in the console: who may do what, which grant decides, and which condition fails.

import { describe, it } from "node:test";
import { itLong } from "../short-run.ts";
import { expectAccessible, expectNoSidewaysScroll, phone, skip, useConsole } from "./console.ts";

const definition = {
  access: {
    read: [{ name: "published", to: "everyone", where: { status: "published" } }],
    update: [
      {
        name: "own draft",
        to: "token",
        where: { author: "$me", status: "draft" },
        fields: ["title"],
      },
      { name: "editors", to: { role: "editor" } },
    ],
  },
  schema: { properties: { title: {}, author: { type: "string" }, status: { type: "string" } } },
};

describe("the screen of rules", { skip }, () => {
  const test = useConsole(async (app) => {
    const put = (path: string, body: unknown) =>
      app.request(path, {
        method: "PUT",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    await put("/-/access", { roles: { editor: ["posts:*"] }, sets: {} });
    await put("/-/collections/posts", definition);
    await put("/posts/hello", { title: "Hello", author: "ann", status: "published" });
  });

  it("shows why a subject may not, and which grant lets another one", async () => {
    const page = await test.open("#/c/posts/-/rules");
    await page.getByLabel("Subject").fill("ann");
    await page.getByLabel("Wants to").selectOption("update");
    await page.getByLabel("Resource").fill("hello");
    await page.getByLabel("Scopes").fill("posts:update");
    await page.getByLabel("Change").fill("{");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("This is no JSON object.").waitFor();
    await page.getByLabel("Change").fill('{"title":"Mine"}');
    await page.getByRole("button", { name: "Try" }).click();
    await page.getByRole("heading", { name: "Not allowed" }).waitFor();
    await page.getByText('status eq "draft", found "published"').waitFor();
    await expectAccessible(page);
    await page.getByLabel("Roles").fill("editor");
    await page.getByRole("button", { name: "Try" }).click();
    await page.getByRole("heading", { name: "Allowed by “editors”" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "Allowed by “editors”" }).waitFor();
    await page.context().close();
  });

  itLong("works on a phone, for callers without a token", async () => {
    const page = await test.open("#/c/posts/-/rules?verb=read&id=hello", {
      ...phone,
      colorScheme: "dark",
    });
    await page.getByRole("heading", { name: "Allowed by “published”" }).waitFor();
    await expectAccessible(page);
    await expectNoSidewaysScroll(page);
    await page.context().close();
  });
});
