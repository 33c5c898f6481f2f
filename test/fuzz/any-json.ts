// Generators of JSON bodies that no client library would write: broken, very large, deeply nested, or with
// unusual names.

import fc from "fast-check";
import { EVENT_TYPES } from "#core/domain/conversion.ts";
import { ANY_TEXT } from "./any-event.ts";

export type JsonField = readonly [name: string, value: unknown];

export interface FieldChange {
	/** Name of the field, which a refusal must name. */
	name: string;
	apply(fields: readonly JsonField[]): JsonField[];
	toString(): string;
}

const LIMIT_BYTES = 64 * 1024;
/** Names of all fields that a report of a sale may have. */
export const SALE_FIELDS = ["orderId", "eventType", "basketValue", "currency", "occurredAt", "test"] as const;
const SPECIAL_NAMES = [
	"__proto__",
	"constructor",
	"toString",
	"orderid",
	"orderId ",
	"",
	"reason",
	"hasOwnProperty",
];

/** Writes JSON without an object, because an object cannot hold a name twice or `__proto__` as a name. */
export function writeJson(fields: readonly JsonField[]): string {
	const written = fields.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
	return `{${written.join(",")}}`;
}

const SPECIAL_JSON = fc.constantFrom(
	"",
	" ",
	"null",
	"[]",
	"{}",
	'"text"',
	"1e400",
	"-0",
	"{'orderId':1}",
	'{"orderId":"a","orderId":"b","basketValue":"1.00"}',
	'{"__proto__":{"orderId":"a","basketValue":"1.00"}}',
	'{"orderId":"a","basketValue":1e400}',
	'{"orderId":"a","basketValue":12.5}',
	'{"orderId":"\\ud800","basketValue":"1.00"}',
	'{"orderId":"a\\u0000","basketValue":"1.00"}',
	'\ufeff{"orderId":"a","basketValue":"1.00"}',
	'{"orderId":"a","basketValue":"1.00"}{}',
	'{"orderId":"a","basketValue":"1.00",}',
);

const DEEP = fc
	.tuple(fc.constantFrom("[", '{"orderId":', '[{"a":'), fc.integer({ min: 1, max: 9_000 }))
	.map(([opening, depth]) => opening.repeat(depth));
const DEEP_AND_CLOSED = fc
	.integer({ min: 1, max: 5_000 })
	.map((depth) => `{"orderId":${"[".repeat(depth)}${"]".repeat(depth)}}`);
const LONG = fc
	.integer({ min: LIMIT_BYTES - 40, max: LIMIT_BYTES + 10 })
	.map((length) => `{"orderId":"${"x".repeat(length)}","basketValue":"1.00"}`);
const WIDE = fc
	.integer({ min: 1, max: 4_000 })
	.map((count) => writeJson(Array.from({ length: count }, (_, at) => [`field${at}`, at])));

export const ANY_BODY: fc.Arbitrary<Uint8Array> = fc
	.oneof(
		fc.json(),
		SPECIAL_JSON,
		ANY_TEXT,
		fc
			.dictionary(fc.oneof(fc.constantFrom(...SALE_FIELDS, ...SPECIAL_NAMES), ANY_TEXT), fc.jsonValue())
			.map((object) => writeJson(Object.entries(object))),
		{ weight: 2, arbitrary: fc.oneof(DEEP, DEEP_AND_CLOSED, LONG, WIDE) },
		fc.uint8Array(),
	)
	.map((body) => (typeof body === "string" ? Buffer.from(body) : body));

export const ANY_CONTENT_HEADERS: fc.Arbitrary<Record<string, string | undefined>> = fc.oneof(
	{ weight: 8, arbitrary: fc.constant({}) },
	fc.record({
		"content-type": fc.constantFrom(
			...[undefined, "", "text/plain", "application/json; charset=utf-8", "application/json; charset=utf-16"],
			...["application/jsonp", "APPLICATION/JSON", "application/json;", "multipart/form-data"],
		),
		"content-encoding": fc.constantFrom(undefined, "identity", "gzip", "br"),
	}),
);

/** Generates texts that have the form of a time but wrong numbers. */
const NEARLY_A_TIME = fc
	.tuple(
		fc.constantFrom(
			"2026-01-14",
			"2025-12-31",
			"2024-02-29",
			"2025-02-29",
			"2025-04-31",
			"2025-00-01",
			"2026-1-01",
		),
		fc.constantFrom("00", "11", "23", "24", "25", "7"),
		fc.constantFrom("00", "59", "60"),
		fc.constantFrom("00", "30", "60"),
		fc.constantFrom("", ".5", ".123", ".123456789", "."),
		fc.constantFrom("Z", "z", "+00:00", "-00:00", "+14:00", "-23:59", "+24:00", "+1:00", ""),
	)
	.map(
		([date, hour, minute, second, fraction, zone]) => `${date}T${hour}:${minute}:${second}${fraction}${zone}`,
	);

const VALUES: Readonly<Record<(typeof SALE_FIELDS)[number], fc.Arbitrary<unknown>>> = {
	orderId: fc.oneof(
		ANY_TEXT,
		fc.string({ minLength: 120, maxLength: 140, size: "max" }),
		fc.constantFrom(" ", " a "),
	),
	eventType: fc.oneof(fc.constantFrom(...EVENT_TYPES, "sale", "SALE ", "Sale"), ANY_TEXT),
	basketValue: fc.oneof(
		fc.stringMatching(/^\d{1,14}(?:\.\d{1,3})?$/),
		fc.constantFrom("-1.00", "1e3", "+1", ".5", "5.", "01", "1,50", "٣", "", "0", "0.00"),
		fc.double(),
		fc.integer({ min: 0, max: 99_999 }).map((cents) => cents / 100),
		ANY_TEXT,
	),
	currency: fc.oneof(fc.constantFrom("EUR", "eur", "JPY", "EURO", "constructor"), ANY_TEXT),
	occurredAt: fc.oneof({ weight: 9, arbitrary: NEARLY_A_TIME }, ANY_TEXT, fc.nat()),
	test: fc.oneof(fc.boolean(), fc.constantFrom("true", 0, 1, null)),
};

const ANY_FIELD = fc.constantFrom(...SALE_FIELDS);

const SET: fc.Arbitrary<FieldChange> = ANY_FIELD.chain((name) =>
	fc
		.oneof({ weight: 3, arbitrary: VALUES[name] }, fc.jsonValue())
		.map((value) =>
			describeChange(`${name} set to`, value, name, (fields) =>
				fields.map((field) => (field[0] === name ? [name, value] : field)),
			),
		),
);
const DROP: fc.Arbitrary<FieldChange> = ANY_FIELD.map((name) =>
	describeChange("dropped", name, name, (fields) => fields.filter((field) => field[0] !== name)),
);
/** Generates a repeated field, which is refused whatever its second value is. */
const REPEAT: fc.Arbitrary<FieldChange> = ANY_FIELD.chain((name) =>
	VALUES[name].map((value) =>
		describeChange(`${name} repeated as`, value, name, (fields) => [...fields, [name, value]]),
	),
);
const ADD: fc.Arbitrary<FieldChange> = fc
	.tuple(fc.oneof(fc.constantFrom(...SPECIAL_NAMES), ANY_TEXT), fc.jsonValue())
	.filter(([name]) => !SALE_FIELDS.some((known) => known === name))
	.map(([name, value]) =>
		describeChange(`${JSON.stringify(name)} added as`, value, name, (fields) => [...fields, [name, value]]),
	);

export const ANY_FIELD_CHANGE: fc.Arbitrary<FieldChange> = fc.oneof(
	{ weight: 4, arbitrary: SET },
	DROP,
	REPEAT,
	ADD,
);

function describeChange(
	what: string,
	value: unknown,
	name: string,
	apply: (fields: readonly JsonField[]) => JsonField[],
): FieldChange {
	return { name, apply, toString: () => `${what} ${fc.stringify(value)}` };
}
