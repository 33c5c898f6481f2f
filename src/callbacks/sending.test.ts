import { deepEqual, doesNotMatch, equal } from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../../test/support/log.ts";
import { dueDelivery } from "../../test/support/rows.ts";
import { signingKey } from "../domain/signature.ts";
import { judgeSending } from "./judge-sending.ts";
import { createForbiddenAddressLog } from "./sending.ts";
import type { KnownTarget, Target } from "./targets.ts";

const NOW_MS = 1_000_000;

const TARGET: Target = {
	url: "https://shop.example/postback",
	pathAndQuery: "/postback",
	endpointId: 1,
	secretId: 1,
	key: signingKey("rbs_1"),
};

/** Where it goes, that it is cancelled, or after how long it may be tried again. */
function judge(known: Partial<KnownTarget> | null, { maySend = true, dueInMs = 0 } = {}): string | number {
	const fresh = { target: TARGET, endpointEpoch: 3, readAtMs: 5, learnedAtMs: 5 };
	const present = known === null ? null : { ...fresh, ...known };
	const delivery = dueDelivery({ endpointEpoch: 3, dueAtMs: NOW_MS + dueInMs });
	const judged = judgeSending(present, delivery, NOW_MS, maySend);
	if (judged.kind === "later") return judged.atMs - NOW_MS;
	return judged.kind === "send" ? judged.target.url : judged.kind;
}

test("a delivery of the present URL goes there", () => {
	equal(judge({}), TARGET.url);
});

test("a delivery made for a URL that was removed since is cancelled, also when there is another now", () => {
	equal(judge({ endpointEpoch: 4 }), "cancel");
	equal(judge({ endpointEpoch: 4, target: null }), "cancel");
});

test("a delivery of a URL that the engine has not heard of waits and is never cancelled", () => {
	equal(judge({ endpointEpoch: 2 }), 5_000);
});

test("without a URL or an openable secret it waits, to be looked at again later", () => {
	equal(judge({ target: null }), 5_000);
});

test("while the lease or what is known of the target is too old, nothing is sent: the next pass reads", () => {
	deepEqual([judge({}, { maySend: false }), judge({ target: null }, { maySend: false })], [0, 0]);
	equal(judge({ endpointEpoch: 4 }, { maySend: false }), "cancel", "a removal is never taken back");
});

test("where nothing is known of the target, the next pass reads it", () => {
	equal(judge(null, { maySend: false }), 0);
});

test("a clock that was set back since it was handed out makes nothing go out early", () => {
	deepEqual([judge({}, { dueInMs: 1 }), judge({}, { dueInMs: -1 })], [1, TARGET.url]);
});

test("a host and its forbidden address are logged once, and again when the address is another", () => {
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
