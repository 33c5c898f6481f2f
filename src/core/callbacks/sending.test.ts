import { deepEqual, doesNotMatch, equal } from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../../../test/support/log.ts";
import { dueDelivery } from "../../../test/support/rows.ts";
import { signingKey } from "../domain/signature.ts";
import { judgeSending } from "./judge-sending.ts";
import { createForbiddenAddressLog } from "./sending.ts";
import type { Target, TargetReading } from "./targets.ts";

const NOW_MS = 1_000_000;

const TARGET: Target = {
	kind: "shop",
	form: "json",
	url: "https://shop.example/postback",
	pathAndQuery: "/postback",
	endpointId: 1,
	secretId: 1,
	key: signingKey("rbs_1"),
};

/** Decides about a delivery. Returns the URL, "cancel", or the delay in ms after which the engine tries again. */
function judge(
	reading: Partial<TargetReading> | null,
	{ maySend = true, dueInMs = 0 } = {},
): string | number {
	const fresh = { target: TARGET, endpointEpoch: 3, readAtMs: 5, learnedAtMs: 5 };
	const present = reading === null ? null : { ...fresh, ...reading };
	const delivery = dueDelivery({ endpointEpoch: 3, dueAtMs: NOW_MS + dueInMs });
	const judged = judgeSending(present, delivery, NOW_MS, maySend);
	if (judged.kind === "later") return judged.atMs - NOW_MS;
	return judged.kind === "send" ? judged.target.url : judged.kind;
}

test("a delivery of the present URL goes there", () => {
	equal(judge({}), TARGET.url);
});

test("a delivery for a URL that was removed since is cancelled, even if there is another URL now", () => {
	equal(judge({ endpointEpoch: 4 }), "cancel");
	equal(judge({ endpointEpoch: 4, target: null }), "cancel");
});

test("a delivery for a URL that the engine does not know yet waits, and is not cancelled", () => {
	equal(judge({ endpointEpoch: 2 }), 5_000);
});

test("a delivery without a URL or a usable secret waits for five seconds", () => {
	equal(judge({ target: null }), 5_000);
});

test("nothing is sent while the lease or the target is too old, and the next pass reads again", () => {
	deepEqual([judge({}, { maySend: false }), judge({ target: null }, { maySend: false })], [0, 0]);
	equal(judge({ endpointEpoch: 4 }, { maySend: false }), "cancel", "a removal is final");
});

test("a delivery without a known target waits for the next pass", () => {
	equal(judge(null, { maySend: false }), 0);
});

test("a delivery is not sent before its due time if the clock was set back", () => {
	deepEqual([judge({}, { dueInMs: 1 }), judge({}, { dueInMs: -1 })], [1, TARGET.url]);
});

test("a host with a forbidden address is logged once, and again if its address changes", () => {
	const log = createLog();
	const note = createForbiddenAddressLog(log);
	const forbid = (host: string, address: string) =>
		note(`https://${host}/x?token=1`, {
			kind: "forbidden-address",
			address,
			reason: `${address} is in a private network`,
		});
	note("https://shop.example/x?token=1", { kind: "answered", status: 204 });
	equal(log.text(), "");
	for (const address of ["10.20.30.40", "10.20.30.40", "10.20.30.41"]) forbid("shop.example", address);
	forbid("other.example", "10.20.30.41");
	const said = (host: string, address: string) => ({
		host,
		address,
		reason: `${address} is in a private network`,
	});
	deepEqual(
		log.lines.map(({ fields }) => fields),
		[
			said("shop.example", "10.20.30.40"),
			said("shop.example", "10.20.30.41"),
			said("other.example", "10.20.30.41"),
		],
	);
	doesNotMatch(log.text(), /token/);
});
