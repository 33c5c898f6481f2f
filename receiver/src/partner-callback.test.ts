import { deepEqual, equal } from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { test } from "node:test";
import { verifyPartnerCallback } from "./partner-callback.ts";
import { sampleDelivery, sampleSecret } from "./sample-delivery.test-support.ts";

const EVENT = {
	event: "conversion.reversed",
	conversionId: "cnv_01HX3Y7R2K",
	programId: "prg_01HX3Y0001",
	partnerId: "ptn_01HX3Y0002",
	linkId: "summer",
	status: "REVERSED",
	eventType: "SALE",
	basketValue: null,
	commission: "10.39",
	currency: "EUR",
	reason: "REASSIGNED",
	creditedBy: "CLICK",
	sub1: "newsletter",
	sub2: null,
	sub3: null,
	test: false,
	clickedAt: "2025-12-31T20:00:00.000Z",
	occurredAt: "2025-12-31T23:58:41.120Z",
	sentAt: "2026-01-01T00:00:00.000Z",
};

function delivery(event: object) {
	const rawBody = JSON.stringify(event);
	return { ...sampleDelivery({ rawBody, eventName: EVENT.event }), method: "POST" as const };
}

/** Returns a GET callback that is signed with node:crypto over an empty body. */
function getDelivery(path: string) {
	const { headers, now } = sampleDelivery({ rawBody: "" });
	const emptySha256 = createHash("sha256").update("").digest("hex");
	const { "X-Service-Timestamp": timestamp, "X-Service-Nonce": nonce } = headers;
	const canonical = `GET\n${path}\n${timestamp}\n${nonce}\n${emptySha256}`;
	const signature = createHmac("sha256", sampleSecret).update(canonical).digest("hex");
	const signed = { ...headers, "X-Service-Signature": signature };
	return { method: "GET", path, headers: signed, rawBody: "", secret: sampleSecret, now } as const;
}

test("a signed POST to a partner is accepted with all of its fields", async () => {
	deepEqual(await verifyPartnerCallback(delivery(EVENT)), { ok: true, event: EVENT });
});

test("a signed GET is accepted without an event, and refused if its query was changed", async () => {
	const request = getDelivery("/postback?cid=newsletter&payout=10.39");
	deepEqual(await verifyPartnerCallback(request), { ok: true, event: null });
	const withTwoSecrets = { ...request, secret: `other,${sampleSecret}` };
	deepEqual(await verifyPartnerCallback(withTwoSecrets), { ok: true, event: null });
	const changed = await verifyPartnerCallback({ ...request, path: "/postback?cid=newsletter&payout=99.99" });
	equal(!changed.ok && changed.reason, "bad_signature");
	const asPost = await verifyPartnerCallback({ ...request, method: "POST" });
	equal(!asPost.ok && asPost.reason, "bad_signature");
});

test("a signed body that is no partner's event is refused with the fields that are wrong", async () => {
	const { partnerId: _, ...rest } = EVENT;
	const refused = await verifyPartnerCallback(delivery({ ...rest, test: "no" }));
	deepEqual(refused, {
		ok: false,
		reason: "malformed_body",
		detail: "Missing or of the wrong type: partnerId (string), test (boolean).",
	});
});
