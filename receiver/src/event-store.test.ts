import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemoryStore } from "./event-store.ts";
import { sampleEvent } from "./sample-delivery.test-support.ts";

test("an event is stored once per pair of conversionId and event, whatever else differs", () => {
	const store = createMemoryStore();
	assert.equal(store(sampleEvent), "stored");
	assert.equal(store({ ...sampleEvent, sentAt: "2026-01-02T00:00:00.000Z" }), "seen");
	assert.equal(store({ ...sampleEvent, event: "conversion.approved" }), "stored");
	assert.equal(store({ ...sampleEvent, conversionId: "cnv_2" }), "stored");
});

test("two pairs that would be equal when joined are different", () => {
	const store = createMemoryStore();
	assert.equal(store({ ...sampleEvent, conversionId: 'a","b', event: "c" }), "stored");
	assert.equal(store({ ...sampleEvent, conversionId: "a", event: 'b","c' }), "stored");
});

test("beyond the capacity the oldest pair is forgotten first, and no other", () => {
	const store = createMemoryStore({ capacity: 2 });
	const events = ["cnv_1", "cnv_2", "cnv_3"].map((conversionId) => ({ ...sampleEvent, conversionId }));
	assert.deepEqual(events.map(store), ["stored", "stored", "stored"]);
	assert.deepEqual(events.slice(1).map(store), ["seen", "seen"]);
	assert.deepEqual(events.slice(0, 1).map(store), ["stored"]);
});
