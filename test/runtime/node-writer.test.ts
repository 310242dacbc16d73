// How much a stream of Node is given while it keeps what it takes.
// @runtimes both

import assert from "node:assert/strict";
import { Duplex } from "node:stream";
import { describe, it } from "node:test";
import { NodeWriter } from "../../src/runtime/node-socket.ts";
import { turn } from "./http1/fake-socket.ts";

const pieceBytes = 65_536;

/** A stream that sends when the test says so, and a writer that counts its drains. */
class Line {
  sentBytes = 0;
  drains = 0;
  #send: ((error?: Error) => void) | undefined;
  readonly #stream = new Duplex({
    write: (data: Buffer, _encoding, done) => {
      this.#send = (error) => {
        this.#send = undefined;
        if (!error) this.sentBytes += data.length;
        done(error);
      };
    },
  }).on("error", () => undefined);
  readonly writer = new NodeWriter(this.#stream, () => {
    this.drains++;
  });

  async send(error?: Error): Promise<void> {
    this.#send?.(error);
    await turn();
  }
}

describe("a writer", () => {
  it("gives a stream one piece at a time while it keeps them", async () => {
    const line = new Line();
    const data = Buffer.alloc(3 * pieceBytes);
    assert.equal(line.writer.write(data, data.length), pieceBytes);
    assert.equal(line.writer.isFull, true);
    assert.equal(line.drains, 0);
    await line.send();
    assert.equal(line.writer.isFull, false);
    assert.equal(line.drains, 1);
    assert.equal(line.sentBytes, pieceBytes);
  });

  it("says nothing after an error, and takes nothing more", async () => {
    const line = new Line();
    assert.equal(line.writer.write("hello", 5), 5);
    await line.send(new Error("reset"));
    assert.equal(line.drains, 0);
    assert.equal(line.writer.write("hello", 5), -1);
  });

  it("gives all to a stream that sends at once", async () => {
    let bytes = 0;
    const stream = new Duplex({
      write: (data: Buffer, _encoding, done) => {
        bytes += data.length;
        done();
      },
    });
    const writer = new NodeWriter(stream, () => assert.fail("no drain was asked for"));
    const data = Buffer.alloc(3 * pieceBytes + 1);
    assert.equal(writer.write(data, data.length), data.length);
    assert.equal(writer.isFull, false);
    await turn();
    assert.equal(bytes, data.length);
  });
});
