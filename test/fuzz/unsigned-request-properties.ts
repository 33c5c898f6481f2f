// Properties of garbage that is sent instead of a signed request. It is refused with a code, stores nothing
// and harms nobody.

import { deepEqual, ok } from "node:assert/strict";
import fc from "fast-check";
import { ANY_TEXT } from "./any-event.ts";
import type { FuzzProperty } from "./fuzz-property.ts";
import { openFuzzService, readAnswer } from "./fuzz-service.ts";
import { toRequest } from "./wire-request.ts";

const ANY_HEADER_VALUE = fc.oneof(
	fc.stringMatching(/^[\x20-\x7e]{0,80}$/),
	ANY_TEXT.map((text) => Buffer.from(text.replace(/[^\x20-\u{10ffff}]|\x7f/gu, "")).toString("latin1")),
);

const ANY_TARGET = fc.oneof(
	{
		weight: 4,
		arbitrary: fc.constantFrom("/v1/conversions", "/v1/approvals", "/v1/rejections", "/v1/reversals"),
	},
	fc.stringMatching(/^\/v1\/[\x21-\x7e]{0,30}$/),
);

/** Statuses of refusals of an unknown caller. Such a refusal must not repeat any text of the request. */
const REFUSED_UNHEARD = [401, 404, 405, 413];

const TRIO = ["x-service-timestamp", "x-service-nonce", "x-service-signature"] as const;

/**
 * Generates mostly right values, so that many requests are valid in all but one respect and reach the last
 * check.
 */
function mostly<Right, Wrong>(right: Right, wrong: fc.Arbitrary<Wrong>): fc.Arbitrary<Right | Wrong> {
	return fc.oneof({ weight: 4, arbitrary: fc.constant(right) }, wrong);
}

const UNSIGNED: FuzzProperty = {
	name: "garbage instead of a signed request is refused with a code and stores nothing",
	kinds: [
		...["unknown_api_key", "missing_signature_header", "malformed_timestamp", "stale_timestamp"],
		...["malformed_nonce", "bad_signature", "not_found"],
	],
	share: 0.5,
	async open({ seed, meet }) {
		const service = await openFuzzService(seed);
		const key = `Bearer ${service.credentials.key}`;
		const fresh = String(Math.floor(service.nowMs() / 1_000));
		const anyValues = fc.record({
			authorization: mostly(key, fc.oneof(fc.constant("Bearer rbk_0"), ANY_HEADER_VALUE)),
			"x-service-timestamp": fc.oneof({ weight: 3, arbitrary: fc.constant(fresh) }, fc.nat().map(String), {
				weight: 2,
				arbitrary: ANY_HEADER_VALUE,
			}),
			"x-service-nonce": fc.oneof(fc.stringMatching(/^[0-9a-f]{32}$/), ANY_HEADER_VALUE),
			"x-service-signature": fc.oneof(fc.stringMatching(/^[0-9a-f]{64}$/), ANY_HEADER_VALUE),
			"content-type": ANY_HEADER_VALUE,
			"content-length": mostly("", fc.oneof(fc.nat().map(String), ANY_HEADER_VALUE)),
		});
		const anyParts = fc.record({
			target: ANY_TARGET,
			values: anyValues,
			dropped: mostly(null, fc.constantFrom(...TRIO)),
			body: fc.uint8Array(),
		});
		const property = fc.asyncProperty(anyParts, async ({ target, values, dropped, body }) => {
			const headers = new Headers(values);
			if (dropped !== null) headers.delete(dropped);
			if (values["content-length"] === "") headers.delete("content-length");
			const request = toRequest({ method: "POST", target, headers, body: Buffer.from(body) });
			if (request === undefined) return;
			const before = await service.stored();
			const answer = await readAnswer(await service.fetch(request, target));
			ok(REFUSED_UNHEARD.includes(answer.status), `${answer.status}: it was taken for signed`);
			if (UNSIGNED.kinds.includes(answer.word)) meet(answer.word);
			deepEqual(await service.stored(), before);
		});
		return { property, close: service.close };
	},
};

export const UNSIGNED_PROPERTIES: readonly FuzzProperty[] = [UNSIGNED];
