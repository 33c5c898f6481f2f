import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { dueDelivery } from "../../test/support/rows.ts";
import { signingKey } from "../domain/signature.ts";
import { judgeSending } from "./sending.ts";
import type { KnownTarget, Target } from "./targets.ts";

const NOW_MS = 1_000_000;

const TARGET: Target = {
	url: "https://shop.example/postback",
	pathAndQuery: "/postback",
	endpointId: 1,
	key: signingKey("rbs_1"),
};

const DELIVERY = dueDelivery({ endpointEpoch: 3 });

/** Where it goes, or how it is settled and when it is due again, counted from now. */
function judge(known: Partial<KnownTarget> | undefined, maySend = true): unknown {
	const present = known && { target: TARGET, endpointEpoch: 3, readAtMs: NOW_MS, ...known };
	const { target, unsent } = judgeSending(present, DELIVERY, NOW_MS, maySend);
	if (target !== null) return target.url;
	return unsent.kind === "released" ? [unsent.kind, unsent.dueAtMs - NOW_MS] : unsent.kind;
}

test("a delivery of the present URL goes there", () => {
	equal(judge({}), TARGET.url);
});

test("a delivery made for a URL that was removed since is cancelled, also when there is another now", () => {
	equal(judge({ endpointEpoch: 4 }), "cancelled");
	equal(judge({ endpointEpoch: 4, target: null }), "cancelled");
});

test("a delivery of a URL that the engine has not heard of is given back and never cancelled", () => {
	deepEqual(judge({ endpointEpoch: 2 }), ["released", 5_000]);
});

test("without a URL or an openable secret it is given back, to be looked at again later", () => {
	deepEqual(judge({ target: null }), ["released", 5_000]);
});

test("while the lease may have lapsed nothing is sent: it is given back at once", () => {
	deepEqual(judge({}, false), ["released", 0]);
	equal(judge({ endpointEpoch: 4 }, false), "cancelled", "what will never be sent needs no lease");
});

test("a clock that was set back since it was handed out makes nothing go out early", () => {
	const early = judgeSending(
		{ target: TARGET, endpointEpoch: 3, readAtMs: NOW_MS },
		{ ...DELIVERY, dueAtMs: NOW_MS + 1 },
		NOW_MS,
		true,
	);
	deepEqual(early.unsent?.kind === "released" && early.unsent.dueAtMs, NOW_MS + 1);
});

test("where nothing is known any more it is given back at once, to be handed out with its target", () => {
	deepEqual(judge(undefined), ["released", 0]);
});

test("what was read five seconds ago is not sent to: it is given back at once, to be read anew", () => {
	equal(judge({ readAtMs: NOW_MS - 4_999 }), TARGET.url);
	deepEqual(judge({ readAtMs: NOW_MS - 5_000 }), ["released", 0]);
	deepEqual(judge({ readAtMs: NOW_MS - 5_000, target: null }), ["released", 0]);
	equal(judge({ readAtMs: NOW_MS - 5_000, endpointEpoch: 4 }), "cancelled", "a removal is never taken back");
});

test("when the clock was set back nobody knows how old a target is: it is given back, to be read anew", () => {
	deepEqual(judge({ readAtMs: NOW_MS + 1 }), ["released", 0]);
});
