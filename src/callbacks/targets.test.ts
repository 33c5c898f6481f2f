import { deepEqual, equal, notEqual } from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../../test/support/log.ts";
import { sealSecret } from "../domain/sealing.ts";
import { canonicalString, sign, signingKey } from "../domain/signature.ts";
import type { CallbackTarget } from "../store/queue.ts";
import { Lanes } from "./lanes.ts";
import { createTargetReader } from "./targets.ts";

const KEY = new Uint8Array(32).fill(7);
const OTHER_KEY = new Uint8Array(32).fill(8);
const PROGRAMME = 5;

function found(change: Partial<CallbackTarget> = {}): CallbackTarget {
	return {
		programmeId: PROGRAMME,
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
	const lane = new Lanes({ perProgramme: 1, overall: 1 }).lane(PROGRAMME);
	return { log, lane, apply: createTargetReader(key, log) };
}

test("a lane gets the URL, the signed target and the key of the present secret", () => {
	const { lane, apply } = setUp();
	apply(lane, found({ endpointEpoch: 3, isFailing: true }));
	deepEqual([lane.target?.url, lane.target?.target], ["https://shop.example/postback?a=b", "/postback?a=b"]);
	deepEqual([lane.endpointEpoch, lane.isFailing], [3, true]);
	const canonical = canonicalString("POST", "/postback?a=b", "1", "n", "d");
	equal(lane.target === null ? "" : sign(lane.target.key, canonical), sign(signingKey("rbs_one"), canonical));
});

test("the same URL and secret are not opened and parsed again; another one of either is", () => {
	const { lane, apply } = setUp();
	apply(lane, found());
	const first = lane.target;
	apply(lane, found());
	equal(lane.target, first);
	apply(lane, found({ endpointId: 2, url: "https://shop.example/new" }));
	equal(lane.target?.target, "/new");
	const second = lane.target;
	apply(lane, found({ endpointId: 2, url: "https://shop.example/new", secretId: 2 }));
	notEqual(lane.target, second);
});

for (const [what, change] of [
	["no URL", { endpointId: null, url: null }],
	["no secret", { secretId: null, sealedSecret: null }],
] as const) {
	test(`${what} leaves the lane without a target, and nothing is logged: that is how programmes begin`, () => {
		const { lane, apply, log } = setUp();
		apply(lane, found());
		apply(lane, found(change));
		equal(lane.target, null);
		equal(log.text(), "");
	});
}

test("a secret sealed with another key leaves the lane without a target, and the log says so without it", () => {
	const { lane, apply, log } = setUp(OTHER_KEY);
	apply(lane, found());
	equal(lane.target, null);
	notEqual(log.text(), "");
	equal(log.text().includes("rbs_one"), false);
});

test("a URL that the rules no longer allow stays the target, for the transport to refuse, and is logged", () => {
	const { lane, apply, log } = setUp();
	apply(lane, found({ url: "http://shop.example/" }));
	deepEqual([lane.target?.url, lane.target?.target], ["http://shop.example/", ""]);
	equal(log.text().includes("not valid any more"), true);
});
