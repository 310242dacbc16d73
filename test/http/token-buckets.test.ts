// Token buckets, and the network that counts as one client.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RequestContext, type Services } from "../../src/http/request/context.ts";
import { TokenBuckets } from "../../src/http/request/token-buckets.ts";
import { noClient } from "../../src/lib/client.ts";
import { networkOf } from "../../src/lib/ip-address.ts";

describe("a bucket", () => {
  let now = 0;
  const pass = (buckets: TokenBuckets, key = "a", perMinute = 6) => buckets.take(key, perMinute);

  it("allows as many requests at once as per minute, then one after the other", () => {
    const buckets = new TokenBuckets(() => now);
    for (let count = 0; count < 6; count++) assert.equal(pass(buckets), 0);
    assert.equal(pass(buckets), 10);
    now += 4000;
    assert.equal(pass(buckets), 6);
    now += 6000;
    assert.equal(pass(buckets), 0);
    assert.equal(pass(buckets), 10);
  });

  it("holds at most the requests of a minute", () => {
    const buckets = new TokenBuckets(() => now);
    assert.equal(pass(buckets), 0);
    now += 3_600_000;
    for (let count = 0; count < 6; count++) assert.equal(pass(buckets), 0);
    assert.ok(pass(buckets) > 0);
  });

  it("is not filled by requests", () => {
    const buckets = new TokenBuckets(() => now);
    for (let count = 0; count < 100; count++) pass(buckets, "a", 1);
    now += 30_000;
    assert.equal(pass(buckets, "a", 1), 30);
    now += 30_000;
    assert.equal(pass(buckets, "a", 1), 0);
  });

  it("shrinks with the limit", () => {
    const buckets = new TokenBuckets(() => now);
    assert.equal(pass(buckets, "a", 100), 0);
    assert.equal(pass(buckets, "a", 1), 0);
    assert.equal(pass(buckets, "a", 1), 60);
  });

  it("is one of 10,000 at most; the least recently used is removed", () => {
    const buckets = new TokenBuckets(() => now);
    pass(buckets, "first", 1);
    pass(buckets, "second", 1);
    for (let count = 0; count < 9_999; count++) pass(buckets, `n${count}`, 1);
    assert.equal(buckets.size, 10_000);
    assert.equal(pass(buckets, "second", 1), 60);
    assert.equal(pass(buckets, "first", 1), 0);
    assert.equal(buckets.size, 10_000);
  });
});

describe("a network", () => {
  const addresses: readonly [address: string, network: string][] = [
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["::FFFF:192.0.2.1", "192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:0DB8:0001:0002::9", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["2001:db8:1:2::", "2001:db8:1:2::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["64:ff9b::192.0.2.1", "64:ff9b:0:0::/64"],
    ["::ffff:c000:201", "192.0.2.1"],
    ["0:0:0:0:0:ffff:192.0.2.1", "192.0.2.1"],
    ["0000:0000:0000:0000:0000:FFFF:C000:0201", "192.0.2.1"],
    ["::ffff:0:192.0.2.1", "0:0:0:0::/64"],
    ["1::ffff:192.0.2.1", "1:0:0:0::/64"],
    ["1:2:3:4:5:6:192.0.2.1", "1:2:3:4::/64"],
    ["", ""],
    ["unix:", "unix:"],
  ];
  for (const [address, network] of addresses)
    it(`of ${address || "no address"} is ${network || "none"}`, () =>
      assert.equal(networkOf(address), network));

  it("is one caller for the queue of queries", () => {
    const callerAt = (peer: string) => {
      const context = new RequestContext({} as Services, new Request("http://localhost/"), "a");
      context.client = { ...noClient, peerAddress: () => peer };
      return context.caller;
    };
    assert.equal(callerAt("2001:db8:1:2::1"), callerAt("2001:db8:1:2::2"));
    assert.notEqual(callerAt("2001:db8:1:2::1"), callerAt("2001:db8:1:3::1"));
  });
});
