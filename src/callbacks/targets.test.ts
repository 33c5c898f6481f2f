import { deepEqual, equal, notEqual } from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../../test/support/log.ts";
import { sealSecret } from "../domain/sealing.ts";
import { canonicalString, sign, signingKey } from "../domain/signature.ts";
import type { CallbackTarget } from "../store/queue.ts";
import { isSendable, Targets } from "./targets.ts";

const KEY = new Uint8Array(32).fill(7);
const OTHER_KEY = new Uint8Array(32).fill(8);
const PROGRAMME = 5;
const NOW_MS = 1_000_000;

function found(change: Partial<CallbackTarget> = {}): CallbackTarget {
	return {
		receiverId: PROGRAMME,
		endpointId: 1,
		endpointEpoch: 0,
		url: "https://shop.example/postback?a=b",
		secretId: 1,
		sealedSecret: sealSecret(KEY, PROGRAMME, "rbs_one", new Uint8Array(12)),
		isFailing: false,
		...change,
	};
}

function setUp(key = KEY) {
	const log = createLog();
	const targets = new Targets(key, log);
	/** As a pass does: asks what is to be read, reads, and tells. */
	const read = (change: Partial<CallbackTarget> = {}, nowMs = NOW_MS) => {
		targets.startReading([PROGRAMME], nowMs);
		targets.learn(found(change), nowMs);
		return targets.find(PROGRAMME);
	};
	return { log, targets, read };
}

test("a programme has the URL, the signed target and the key of the present secret", () => {
	const known = setUp().read({ endpointEpoch: 3 });
	const target = known?.target ?? null;
	deepEqual([target?.url, target?.pathAndQuery], ["https://shop.example/postback?a=b", "/postback?a=b"]);
	equal(known?.endpointEpoch, 3);
	const canonical = canonicalString("POST", "/postback?a=b", "1", "n", "d");
	equal(target === null ? "" : sign(target.key, canonical), sign(signingKey("rbs_one"), canonical));
});

test("the same URL and secret are not opened and parsed again; another one of either is", () => {
	const { read } = setUp();
	const first = read()?.target;
	equal(read()?.target, first);
	const second = read({ endpointId: 2, url: "https://shop.example/new" })?.target;
	equal(second?.pathAndQuery, "/new");
	notEqual(read({ endpointId: 2, url: "https://shop.example/new", secretId: 2 })?.target, second);
});

test("what was read is fresh for a second, and then read again", () => {
	const { targets, read } = setUp();
	equal(targets.freshForMs(PROGRAMME, NOW_MS), 0, "nothing is known yet");
	read();
	equal(targets.freshForMs(PROGRAMME, NOW_MS + 900), 100);
	deepEqual(targets.startReading([PROGRAMME, 6], NOW_MS + 999), [6]);
	deepEqual(targets.startReading([PROGRAMME, 6], NOW_MS + 1_000), [PROGRAMME, 6]);
	equal(
		targets.freshForMs(PROGRAMME, NOW_MS - 5),
		0,
		"the clock was set back: it is not known how old it is",
	);
});

test("what may have changed is read again, also when it changes while it is being read", () => {
	const { targets, read } = setUp();
	read();
	targets.outdate(PROGRAMME);
	deepEqual(targets.startReading([PROGRAMME], NOW_MS), [PROGRAMME]);
	targets.outdate(PROGRAMME);
	targets.learn(found(), NOW_MS);
	equal(targets.freshForMs(PROGRAMME, NOW_MS), 0);
	const known = targets.find(PROGRAMME);
	equal(known?.target?.pathAndQuery, "/postback?a=b", "until then the last known one stays");
	equal(known !== undefined && isSendable(known, NOW_MS), true, "a sale is announced, too: it must not stop");
});

test("memory stays bounded: what was read longest ago is forgotten", () => {
	const { targets } = setUp();
	for (let receiverId = 1; receiverId <= 10_001; receiverId++) {
		targets.learn(found({ receiverId, endpointId: null, url: null }), NOW_MS);
	}
	deepEqual([targets.find(1), targets.find(2)?.target], [undefined, null]);
});

for (const [what, change] of [
	["no URL", { endpointId: null, url: null }],
	["no secret", { secretId: null, sealedSecret: null }],
] as const) {
	test(`${what} leaves it without a target, and nothing is logged: that is how programmes begin`, () => {
		const { read, log } = setUp();
		read();
		equal(read(change)?.target, null);
		equal(log.text(), "");
	});
}

test("a secret sealed with another key leaves it without a target, and the log says so without it", () => {
	const { read, log } = setUp(OTHER_KEY);
	equal(read()?.target, null);
	notEqual(log.text(), "");
	equal(log.text().includes("rbs_one"), false);
});

test("a URL that the rules no longer allow stays the target, for the transport to refuse, and is logged", () => {
	const { read, log } = setUp();
	const target = read({ url: "http://shop.example/" })?.target;
	deepEqual([target?.url, target?.pathAndQuery], ["http://shop.example/", ""]);
	equal(log.text().includes("not valid any more"), true);
});
