// Lists, for each fault code, a call that is refused because of its key, secret, timestamp or nonce.

import { expectValue } from "../../../test/support/shop-account.ts";
import { type Credentials, signedRequest } from "../../../test/support/signed-request.ts";
import { COMMAND_LINE } from "../people/actor.ts";
import { issueKey, revokeKey } from "../programmes/keys.ts";
import {
	type CallerCode,
	post,
	record,
	recordWith,
	SALE,
	type Scenario,
} from "./refusal-scenario.test-support.ts";
import { type Answered, read, START_MS, type TestShop } from "./test-shop.test-support.ts";

const unsigned = (
	what: string,
	headers: Readonly<Record<string, string | undefined>>,
	detail?: RegExp,
): Scenario => ({
	what,
	call: recordWith(headers),
	...(detail === undefined ? {} : { detail }),
});

const recordAs = async (shop: TestShop, change: Partial<Credentials>): Promise<Answered> => {
	const credentials = { ...shop.credentials, ...change };
	const options = { body: SALE, nowMs: START_MS };
	return read(await shop.request(signedRequest("POST", "/v1/conversions", credentials, options)));
};
const recordAt = (what: string, nowMs: number): Scenario => ({
	what,
	call: post("/v1/conversions", SALE, { nowMs }),
});

export const CALLER_SCENARIOS: Readonly<Record<CallerCode, readonly Scenario[]>> = {
	missing_api_key: [
		unsigned("no Authorization", { authorization: undefined }),
		unsigned("another scheme", { authorization: "Basic c2hvcDpwYXNz" }),
	],
	unknown_api_key: [unsigned("a key nobody has", { authorization: "Bearer rbk_nobody" })],
	revoked_api_key: [
		{
			what: "a key that was revoked",
			call: async (shop) => {
				const second = expectValue(await issueKey(shop.deps, shop.programme.public_id, COMMAND_LINE));
				expectValue(await revokeKey(shop.deps, shop.programme.public_id, second.keyId, COMMAND_LINE));
				// Revoking the key sends an announcement, which is removed here. The refused call must not send one.
				shop.announced.length = 0;
				return recordAs(shop, { key: second.key });
			},
		},
	],
	missing_signature_header: [
		unsigned("no timestamp", { "x-service-timestamp": undefined }, /X-Service-Timestamp/),
		unsigned("no nonce", { "x-service-nonce": undefined }, /X-Service-Nonce/),
		unsigned("no signature", { "x-service-signature": undefined }, /X-Service-Signature/),
	],
	malformed_timestamp: [
		unsigned("a date", { "x-service-timestamp": "2026-03-01" }),
		unsigned("a sign", { "x-service-timestamp": `+${START_MS / 1000}` }),
	],
	stale_timestamp: [
		recordAt("301 seconds ago", START_MS - 301_000),
		recordAt("301 seconds ahead", START_MS + 301_000),
	],
	malformed_nonce: [
		unsigned("too short", { "x-service-nonce": "1234567" }),
		unsigned("a space in it", { "x-service-nonce": "12345678 90" }),
	],
	replayed_nonce: [
		{
			what: "the nonce of an accepted call",
			prepare: post("/v1/conversions", SALE, { nonce: "1234567890" }),
			call: post("/v1/conversions", { ...SALE, orderId: "A-2" }, { nonce: "1234567890" }),
		},
		{
			what: "the nonce of a call refused for its content",
			prepare: post("/v1/conversions", {}, { nonce: "1234567890" }),
			call: post("/v1/conversions", SALE, { nonce: "1234567890" }),
		},
	],
	bad_signature: [
		unsigned("another signature", { "x-service-signature": "0".repeat(64) }, /POST \/v1\/conversions/),
		unsigned("no hex", { "x-service-signature": "signature" }),
		{ what: "another secret", call: (shop) => recordAs(shop, { secret: "rbs_other" }) },
	],
	no_signing_secret: [
		{
			what: "no secret at all",
			async prepare(shop) {
				await shop.store.db.deleteFrom("signing_secrets").execute();
				shop.store.announceChange(shop.programme.id);
			},
			call: record,
		},
	],
};
