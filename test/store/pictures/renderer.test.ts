// The process that renders pictures may crash, hang, or not start, and the next picture is rendered.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { PictureJob } from "../../../src/store/pictures/job.ts";
import { NoRenderer, RendererProcess } from "../../../src/store/pictures/renderer.ts";

const renderer = new RendererProcess(new URL("other-process.ts", import.meta.url), 1);
after(() => renderer.close());

const job = (width: number): PictureJob => ({
  ...{ input: "", output: "" },
  task: { kind: "render", width, fit: "cover", format: "png" },
});

describe("a picture", () => {
  it("that crashes or hangs its process is reported, and the next one is rendered", async () => {
    assert.equal(await renderer.run(job(0)), "as it should");
    assert.match((await renderer.run(job(1))) ?? "", /breaks the decoder/);
    assert.equal(await renderer.run(job(0)), "as it should");
    assert.match((await renderer.run(job(2))) ?? "", /too much memory/);
    assert.match((await renderer.run(job(3))) ?? "", /longer than 1 s/);
    assert.equal(await renderer.run(job(0)), "as it should");
  });

  it("cannot be rendered where the process does not start", async () => {
    const missing = new RendererProcess(new URL("no-such-process.ts", import.meta.url));
    await assert.rejects(missing.run(job(0)), NoRenderer);
  });
});
