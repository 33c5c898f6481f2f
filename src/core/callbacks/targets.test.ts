import { deepEqual, equal, notEqual } from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../../../test/support/log.ts";
import { receiverId } from "../../../test/support/receiver-ids.ts";
import { sealSecret } from "../domain/sealing.ts";
import { canonicalString, sign, signingKey } from "../domain/signature.ts";
import type { CallbackTarget } from "../store/queries/queue.ts";
import { createTargetOpener, isFresh, type TargetReading } from "./targets.ts";

const KEY = new Uint8Array(32).fill(7);
const OTHER_KEY = new Uint8Array(32).fill(8);
const RECEIVER = receiverId(5);
const NOW_MS = 1_000_000;
const SEALED = sealSecret(KEY, RECEIVER, "rbs_one", new Uint8Array(12));

function callbackTarget(change: Partial<CallbackTarget> = {}): CallbackTarget {
	return {
		receiverId: RECEIVER,
		kind: "shop",
		form: "json",
		endpointId: 1,
		endpointEpoch: 0,
		url: "https://shop.example/postback?a=b",
		secretId: 1,
		sealedSecret: SEALED,
		isFailing: false,
		...change,
	};
}

function setUp(key = KEY) {
	const log = createLog();
	const open = createTargetOpener({ keys: [key] }, log);
	const when = { readAtMs: NOW_MS, learnedAtMs: NOW_MS };
	return {
		log,
		read: (change: Partial<CallbackTarget> = {}): TargetReading => open(callbackTarget(change), when),
	};
}

test("a target has the URL, its path and query, and the key of the current secret", () => {
	const reading = setUp().read({ endpointEpoch: 3 });
	const { target } = reading;
	deepEqual([target?.url, target?.pathAndQuery], ["https://shop.example/postback?a=b", "/postback?a=b"]);
	equal(reading.endpointEpoch, 3);
	const canonical = canonicalString("POST", "/postback?a=b", "1", "n", "d");
	equal(target === null ? "" : sign(target.key, canonical), sign(signingKey("rbs_one"), canonical));
});

test("a URL and a secret are opened once, and again if one of them changes", () => {
	const { read } = setUp();
	const first = read().target;
	equal(read().target, first);
	const second = read({ endpointId: 2, url: "https://shop.example/new" }).target;
	equal(second?.pathAndQuery, "/new");
	notEqual(read({ endpointId: 2, url: "https://shop.example/new", secretId: 2 }).target, second);
});

test("a target is fresh for a second, unless it took long to be read", () => {
	const reading = { endpointEpoch: 0, target: null, readAtMs: 0, learnedAtMs: 100 };
	deepEqual([isFresh(reading, 1_099), isFresh(reading, 1_100)], [true, false]);
	const slow = { ...reading, learnedAtMs: 4_500 };
	deepEqual([isFresh(slow, 4_999), isFresh(slow, 5_000)], [true, false]);
});

test("at most 10,000 targets are cached, and the oldest is dropped", () => {
	const log = createLog();
	const open = createTargetOpener({ keys: [KEY] }, log);
	const when = { readAtMs: NOW_MS, learnedAtMs: NOW_MS };
	const targetOf = (number: number) => {
		const id = receiverId(number);
		const sealedSecret = sealSecret(KEY, id, "rbs_one", new Uint8Array(12));
		return open(callbackTarget({ receiverId: id, sealedSecret }), when).target;
	};
	const [first, second] = [targetOf(1), targetOf(2)];
	for (let number = 3; number <= 10_001; number++) targetOf(number);
	equal(targetOf(2), second);
	notEqual(targetOf(1), first);
});

for (const [what, change] of [
	["no URL", { endpointId: null, url: null }],
	["no secret", { secretId: null, sealedSecret: null }],
] as const) {
	test(`a programme with ${what} has no target, and nothing is logged, because every programme begins like this`, () => {
		const { read, log } = setUp();
		read();
		equal(read(change).target, null);
		equal(log.text(), "");
	});
}

test("a programme whose secret was sealed with another key has no target, and the log does not show the secret", () => {
	const { read, log } = setUp(OTHER_KEY);
	equal(read().target, null);
	notEqual(log.text(), "");
	equal(log.text().includes("rbs_one"), false);
});

test("a URL that is no longer allowed stays the target, so that the transport refuses it, and is logged", () => {
	const { read, log } = setUp();
	const target = read({ url: "http://shop.example/" }).target;
	deepEqual([target?.url, target?.pathAndQuery], ["http://shop.example/", ""]);
	equal(log.text().includes("no longer valid"), true);
});
