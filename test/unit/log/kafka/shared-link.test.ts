// Links that share connections, over links to a scripted cluster.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SharedLink } from "../../../../src/log/kafka/shared-link.ts";
import { metadata } from "../../../../src/log/kafka/wire/cluster-requests.ts";
import { ScriptedCluster } from "./scripted-link.ts";

describe("links over shared connections", () => {
  test("open one connection for all, and close it with the last", async () => {
    const cluster = new ScriptedCluster();
    const shared = new SharedLink(cluster.openLink);
    const links = [shared.open(), shared.open(), shared.open()];
    await Promise.all(links.map((link) => link.connect(["state"])));
    assert.deepEqual([cluster.linksOpened, cluster.asked("Connect").length], [1, 1]);
    await links[0].close();
    await links[0].close(); // counts once
    await links[1].close();
    assert.equal(cluster.openLinks.size, 1);
    await links[2].close();
    assert.equal(cluster.openLinks.size, 0);
    const later = shared.open();
    await later.connect(["state"]);
    assert.equal(cluster.linksOpened, 2);
    await later.close();
  });

  test("send nothing after their own close, while the others go on", async () => {
    const cluster = new ScriptedCluster();
    const shared = new SharedLink(cluster.openLink);
    const [closed, open] = [shared.open(), shared.open()];
    await Promise.all([closed, open].map((link) => link.connect(["state"])));
    await closed.close();
    await assert.rejects(closed.ask("1", metadata([])), { message: "the link is closed" });
    await assert.rejects(closed.connect([]), { message: "the link is closed" });
    await open.ask("1", metadata([]));
    await open.close();
  });

  test("look leaders up again after one of them was closed, as after a failure", async () => {
    const cluster = new ScriptedCluster();
    const shared = new SharedLink(cluster.openLink);
    const [failed, other] = [shared.open(), shared.open()];
    await failed.connect(["state"]);
    await failed.close();
    const next = shared.open();
    await next.connect(["state"]);
    assert.deepEqual([cluster.linksOpened, cluster.asked("Connect").length], [1, 2]);
    await Promise.all([other.close(), next.close()]);
  });

  test("use other connections after a failed lookup, and leave the old ones to those who have them", async () => {
    const cluster = new ScriptedCluster();
    const shared = new SharedLink(cluster.openLink);
    cluster.script({ step: "Connect", nth: 0, fault: { kind: "request lost" } });
    const [failed, other] = [shared.open(), shared.open()];
    await assert.rejects(failed.connect(["state"]));
    await failed.close();
    const next = shared.open();
    await next.connect(["state"]);
    assert.deepEqual([cluster.linksOpened, cluster.openLinks.size], [2, 2]);
    await other.close();
    assert.equal(cluster.openLinks.size, 1);
    await next.close();
    assert.equal(cluster.openLinks.size, 0);
  });
});
