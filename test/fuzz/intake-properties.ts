// Properties of the intake for any input of a shop or a browser. The service never fails, and always returns
// an outcome or a problem with a code. A refusal stores nothing and names the field. A stored conversion is
// exactly what was sent.

import { deepEqual, equal, notDeepEqual, ok } from "node:assert/strict";
import fc from "fast-check";
import { httpStatusOf } from "#core/domain/fault.ts";
import { signedRequest } from "../support/signed-request.ts";
import { ANY_TEXT } from "./any-event.ts";
import { ANY_BODY, ANY_CONTENT_HEADERS, ANY_FIELD_CHANGE, type JsonField, writeJson } from "./any-json.ts";
import type { FuzzProperty } from "./fuzz-property.ts";
import { type FuzzAnswer, type FuzzService, openFuzzService, readAnswer } from "./fuzz-service.ts";
import { checkAmount, checkStoredSale } from "./stored-sale.ts";

const POST_TARGETS = ["/v1/conversions", "/v1/approvals", "/v1/rejections", "/v1/reversals"] as const;
/** Maximum length of a field name in a problem. */
const MAX_SHOWN_NAME_LENGTH = 40;

async function post(
	service: FuzzService,
	target: string,
	body: string | Uint8Array,
	headers: Readonly<Record<string, string | undefined>> = {},
): Promise<FuzzAnswer> {
	const nowMs = service.nowMs();
	const request = signedRequest("POST", target, service.credentials, { body, nowMs, headers });
	return readAnswer(await service.fetch(request, target));
}

const ANYTHING: FuzzProperty = {
	name: "any signed bytes are answered with an outcome or a problem, and a refusal stores nothing",
	kinds: ["malformed_json", "body_too_large", "unsupported_media_type", "invalid_field", "unknown_field"],
	share: 0.5,
	async open({ seed, meet }) {
		const service = await openFuzzService(seed);
		const property = fc.asyncProperty(
			fc.constantFrom(...POST_TARGETS),
			ANY_BODY,
			ANY_CONTENT_HEADERS,
			async (target, body, headers) => {
				const before = await service.stored();
				const answer = await post(service, target, body, headers);
				if (ANYTHING.kinds.includes(answer.word)) meet(answer.word);
				if (answer.status >= 400) deepEqual(await service.stored(), before);
			},
		);
		return { property, close: service.close };
	},
};

const CHANGED_FIELD: FuzzProperty = {
	name: "a report with one field changed is refused by that field's name or stored exactly as sent",
	kinds: ["refused", "stored"],
	share: 0.5,
	async open({ seed, meet }) {
		const service = await openFuzzService(seed);
		const property = fc.asyncProperty(ANY_FIELD_CHANGE, async (change) => {
			const report: JsonField[] = [
				["orderId", `order-${service.nextOrder()}`],
				["eventType", "SALE"],
				["basketValue", "129.90"],
				["currency", "EUR"],
				["occurredAt", "2026-01-15T11:00:00Z"],
				["test", false],
			];
			const sent = change.apply(report);
			const before = await service.stored();
			const answer = await post(service, "/v1/conversions", writeJson(sent));
			const after = await service.stored();
			if (answer.status === 201) {
				meet("stored");
				await checkStoredSale(service, sent);
				notDeepEqual(after, before);
			} else {
				// A case that fast-check shrinks may find the order of its first run.
				if (answer.word !== "DUPLICATE") {
					equal(answer.field, change.name.slice(0, MAX_SHOWN_NAME_LENGTH), JSON.stringify(answer.json));
					meet("refused");
				}
				deepEqual(after, before);
			}
		});
		return { property, close: service.close };
	},
};

const ANY_QUERY = fc.oneof(
	{
		weight: 4,
		arbitrary: namedQuery(["orderId", "eventType", "basketValue", "currency", "cache", "status"]),
	},
	fc.stringMatching(/^[\x21-\x7e]{0,60}$/).map((text) => text.replaceAll("#", "")),
);

function namedQuery(names: readonly string[]): fc.Arbitrary<string> {
	const value = fc.oneof(
		fc.constantFrom("SALE", "LEAD", "10.00", "1e3", "-1", "EUR", "JPY", "%00", "%ff", "%", "RECORDED", "200"),
		fc.stringMatching(/^[A-Za-z0-9-]{1,12}$/),
		ANY_TEXT.map((text) => encodeURIComponent(text.toWellFormed())),
	);
	return fc
		.array(fc.tuple(fc.constantFrom(...names), value), { maxLength: 6 })
		.map((pairs) => pairs.map((pair) => pair.join("=")).join("&"));
}

/** Generates queries of the pixel. They have few different orders, so that some are repeated. */
const SALE_QUERY = fc
	.record({ order: fc.stringMatching(/^[a-c]\d$/), rest: ANY_QUERY })
	.map(
		({ order, rest }) =>
			`orderId=${order}&basketValue=10.00&x=${rest.replace(/&(?:orderId|basketValue)=[^&]*/g, "")}`,
	);

const PIXEL: FuzzProperty = {
	name: "a pixel call with any query gets its image, and its outcome is in the inbound log",
	kinds: ["PARKED", "RECORDED", "DUPLICATE", "invalid_field", "unknown_programme"],
	share: 0.5,
	async open({ seed, meet }) {
		const parking = await openFuzzService(seed);
		const recording = await openFuzzService(seed, { parksPixels: false });
		const property = fc.asyncProperty(
			fc.boolean(),
			fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, fc.stringMatching(/^[\w.%-]{0,20}$/)),
			fc.oneof(ANY_QUERY, SALE_QUERY),
			async (parks, otherName, query) => {
				const service = parks ? parking : recording;
				const target = `/pixel/${otherName ?? service.programme.public_id}.gif?${query}`;
				const before = await service.stored();
				const response = await service.fetch(new Request(`http://localhost${target}`), target);
				equal(response.status, 200);
				equal(response.headers.get("content-type"), "image/gif");
				equal((await response.arrayBuffer()).byteLength, 43);
				const { outcome, ...kept } = await service.deps.store.db
					.selectFrom("inbound_calls")
					.leftJoin("conversions", "conversions.public_id", "inbound_calls.conversion")
					.select(["outcome", "conversions.order_id", "basket_value", "event_type"])
					.orderBy("inbound_calls.id", "desc")
					.limit(1)
					.executeTakeFirstOrThrow();
				if (PIXEL.kinds.includes(outcome)) meet(outcome);
				const isNew = outcome === (parks ? "PARKED" : "RECORDED");
				ok(isNew || outcome === "DUPLICATE" || (httpStatusOf(outcome) ?? 500) < 500, outcome);
				if (isNew) {
					notDeepEqual(await service.stored(), before);
					const sent = new URLSearchParams(query);
					equal(kept.order_id, sent.get("orderId"));
					equal(kept.event_type, sent.get("eventType") ?? "SALE");
					checkAmount(kept.basket_value ?? "", sent.get("basketValue") ?? "");
				} else deepEqual(await service.stored(), before);
			},
		);
		return {
			property,
			async close() {
				await parking.close();
				await recording.close();
			},
		};
	},
};

const LOOKED_UP: FuzzProperty = {
	name: "any signed read is answered with conversions or a problem, and changes nothing",
	kinds: ["answered", "refused"],
	share: 0.5,
	async open({ seed, meet }) {
		const service = await openFuzzService(seed);
		await post(service, "/v1/conversions", JSON.stringify({ orderId: "order", basketValue: "10.00" }));
		const anyTarget = fc.oneof(
			namedQuery(["status", "orderId", "limit", "cursor"]).map((query) => `/v1/conversions?${query}`),
			ANY_QUERY.map((query) => `/v1/conversions?${query}`),
			ANY_TEXT.map((text) => `/v1/conversions/${encodeURIComponent(text.toWellFormed())}`),
			fc.stringMatching(/^\/v1\/conversions\/[!$-;=?-[\]_a-z|~]{0,40}$/),
		);
		const property = fc.asyncProperty(anyTarget, async (target) => {
			const before = await service.stored();
			const request = signedRequest("GET", target, service.credentials, { nowMs: service.nowMs() });
			const answer = await readAnswer(await service.fetch(request, target));
			meet(answer.status === 200 ? "answered" : "refused");
			deepEqual(await service.stored(), before);
		});
		return { property, close: service.close };
	},
};

export const INTAKE_PROPERTIES: readonly FuzzProperty[] = [ANYTHING, CHANGED_FIELD, PIXEL, LOOKED_UP];
