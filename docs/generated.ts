// The parts of Markdown files that `npm run docs` writes, between `<!-- generated: NAME -->` and `<!-- /generated -->`. They
// come from the code. The rest of the files is written by hand.

import type * as z from "zod";
import { CALLBACK_FIELDS, CONVERSION_FIELDS } from "#core/api/conversion-fields.ts";
import { EXAMPLE_NONCE, exampleCallback, exampleSentAtMs, signExample } from "#core/api/openapi/examples.ts";
import { jsonSchema } from "#core/api/openapi/json-schema.ts";
import { type AttemptOutcome, explainAttempt } from "#core/callbacks/attempt-cause.ts";
import { concludeAttempt } from "#core/domain/delivery.ts";
import {
	API_FAULT_CODES,
	type ApiFaultCode,
	explainFault,
	isTokenFault,
	SIGNED_FAULT_CODES,
} from "#core/domain/fault.ts";
import { MAX_ATTEMPTS, RETRY_DELAYS_MS } from "#core/domain/retry.ts";
import { headerNames, USER_AGENT } from "#core/domain/signature.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "#core/domain/time.ts";
import { judgeOutcome, type Outcome } from "#core/domain/verdict.ts";
import { CREDIT_SENTENCES } from "#modules/partners/web/credit-section.ts";
import { GUIDE_PARTS } from "../src/operations-guide.ts";
import { SIGNED_ROUTES, TOKEN_CALLS } from "../src/site-modules.ts";
import { alertsTable } from "./alerts-table.ts";
import { limitsTable } from "./limits-table.ts";
import { fence, table } from "./markdown-text.ts";
import { choresTable, deliveringSeriesTable, everySeriesTable } from "./metrics-table.ts";
import { queuesTable, ratesTable } from "./request-limits-table.ts";
import { secretsTable, settingsTable } from "./settings-table.ts";

const PARTS: ReadonlyMap<string, () => string> = new Map([
	["answers", answersTable],
	["credit-words", creditWordsTable],
	["limits", limitsTable],
	["callback-fields", () => fieldsTable(CALLBACK_FIELDS)],
	["conversion-fields", () => fieldsTable(CONVERSION_FIELDS)],
	["faults", () => faultsTable(SIGNED_FAULT_CODES)],
	["token-faults", () => faultsTable(API_FAULT_CODES.filter(isTokenFault))],
	["signed-calls", signedCallsTable],
	["network-calls", () => callsTable((path) => path.startsWith("/v1/network/"))],
	["partner-calls", () => callsTable((path) => path.startsWith("/v1/partner/"))],
	["retry-calendar", retryCalendar],
	["sample-request", sampleRequest],
	["guide-parts", guidePartsTable],
	["settings", settingsTable],
	["secrets", secretsTable],
	["metrics-delivering", deliveringSeriesTable],
	["metrics-every", everySeriesTable],
	["chores", choresTable],
	["alerts", alertsTable],
	["rates", ratesTable],
	["queues", queuesTable],
	["sample-canonical", () => fence("text", sampleCallback().canonical)],
]);

/** Documents with parts that `npm run docs` generates. */
export const GENERATED_IN = [
	"docs/callbacks.md",
	"docs/click-ids.md",
	"docs/retries.md",
	"docs/api.md",
	"docs/network-api.md",
	"docs/partner-api.md",
	"docs/operations.md",
	"docs/operations/incidents.md",
	"docs/operations/limits.md",
	"docs/operations/metrics.md",
	"docs/operations/settings.md",
] as const;

const REGION = /<!-- generated: ([a-z-]+) -->\n.*?<!-- \/generated -->/gs;

export function writeGenerated(markdown: string): string {
	return markdown.replace(REGION, (_, name: string) => {
		const write = PARTS.get(name);
		if (write === undefined) throw new Error(`nothing writes the part ${name}`);
		return `<!-- generated: ${name} -->\n${write()}\n<!-- /generated -->`;
	});
}

export const SAMPLE_TARGET = "/postback?shop=1";
const SAMPLE_EVENT = "conversion.approved";

/** Returns a callback with a valid signature, so that a receiver can be tested with it. */
export function sampleCallback(): {
	body: string;
	/** The headers, in the order in which they are sent. */
	headers: readonly (readonly [name: string, value: string])[];
	canonical: string;
} {
	const names = headerNames("Service");
	const body = exampleCallback(SAMPLE_EVENT);
	const signed = signExample("POST", SAMPLE_TARGET, body, exampleSentAtMs(SAMPLE_EVENT));
	return {
		body,
		headers: [
			["Host", "shop.example"],
			["Content-Type", "application/json"],
			["User-Agent", USER_AGENT],
			[names.event, SAMPLE_EVENT],
			[names.timestamp, signed.timestamp],
			[names.nonce, EXAMPLE_NONCE],
			[names.signature, signed.signature],
		],
		canonical: signed.canonical,
	};
}

function sampleRequest(): string {
	const { body, headers } = sampleCallback();
	const lines = headers.map(([name, value]) => `${name}: ${value}`);
	return fence("http", [`POST ${SAMPLE_TARGET} HTTP/1.1`, ...lines, "", body].join("\n"));
}

/** Writes the fields of an object. The words of a field are listed unless its sentence explains each of them. */
function fieldsTable(fields: Readonly<Record<string, z.ZodType>>): string {
	return table(
		["Field", "Type", "What it says"],
		Object.entries(fields).map(([name, schema]) => {
			const { type = [], enum: listed = [], description = "" } = jsonSchema(schema);
			const words = listed.flatMap((word) => (word === null ? [] : `\`${String(word)}\``));
			const isExplained = words.every((word) => description.includes(word));
			const sentences = isExplained ? description : `${description} One of ${words.join(", ")}.`;
			return [`\`${name}\``, [type].flat().join(" or "), sentences];
		}),
	);
}

function guidePartsTable(): string {
	return table(
		["page", "use it to"],
		GUIDE_PARTS.map(({ name, label, use }) => [`[${label}](operations/${name}.md)`, use]),
	);
}

/** Writes the table of the calls that need an API token, with the right that each call needs. */
function callsTable(isListed: (path: string) => boolean): string {
	const listed = TOKEN_CALLS.filter(({ path }) => isListed(path));
	const hasRights = listed.some(({ right }) => right === "manage");
	return table(
		["call", "what it does", ...(hasRights ? ["right"] : [])],
		listed.map(({ method, path, summary, right }) => [
			`\`${method} ${path}\``,
			summary,
			...(hasRights ? [right] : []),
		]),
	);
}

/** Writes the calls of the signed API, with their fields and the words of their answers. */
function signedCallsTable(): string {
	return table(
		["call", "what it does", "fields", "answers"],
		SIGNED_ROUTES.map(({ method, path, summary, query, body, answers }) => [
			`\`${method} ${path}\``,
			summary,
			fieldList(body ?? query),
			Object.entries(answers)
				.map(([status, { schema }]) => `${status} ${outcomesOf(schema).join(", ")}`.trim())
				.join(" · "),
		]),
	);
}

/** Lists the fields of a body or a query. Optional fields are in brackets. */
function fieldList(schema: z.ZodObject | undefined): string {
	if (schema === undefined) return "";
	const { properties = {}, required = [] } = jsonSchema(schema, "input");
	const names = Object.keys(properties);
	const optional = names.filter((name) => !required.includes(name)).map((name) => `\`${name}\``);
	const listed = names.filter((name) => required.includes(name)).map((name) => `\`${name}\``);
	return [...listed, ...(optional.length === 0 ? [] : [`[${optional.join(", ")}]`])].join(", ");
}

/** Returns the outcome words that an answer can have. */
function outcomesOf(schema: z.ZodType | undefined): string[] {
	const words = schema === undefined ? [] : (jsonSchema(schema).properties?.["outcome"]?.enum ?? []);
	return words.map((word) => `\`${String(word)}\``);
}

/** Writes the reasons of a credit that the answer to a sale can name, with the sentences of the conversion's page. */
function creditWordsTable(): string {
	return table(
		["`credit`", "what it means"],
		[...CREDIT_SENTENCES].map(([word, sentence]) => [`\`${word}\``, sentence]),
	);
}

function faultsTable(listed: readonly ApiFaultCode[]): string {
	const byStatus = Map.groupBy(listed, (code) => explainFault(code).status);
	const rows = [...byStatus].sort(([one], [other]) => one - other);
	return table(
		["status", "code", "meaning"],
		rows.flatMap(([status, codes]) =>
			codes.map((code, index) => [
				index === 0 ? String(status) : "",
				`\`${code}\``,
				explainFault(code).meaning,
			]),
		),
	);
}

interface AnswerRow {
	answer: string;
	/** The results that the row describes. The code must treat all of them alike. */
	outcomes: readonly Outcome[];
}

const ANSWERS: readonly AnswerRow[] = [
	{ answer: "any `2xx`, within 5 seconds", outcomes: [200, 201, 202, 204, 299].map(answered) },
	{ answer: "`408`, `429`", outcomes: [408, 429].map(answered) },
	{ answer: "any `5xx`", outcomes: [500, 501, 502, 503, 504, 599].map(answered) },
	{
		answer: "any other `4xx`: `400`, `401`, `403`, `404`, `410` …",
		outcomes: [401, 400, 403, 404, 405, 409, 410, 413, 415, 418, 422, 451, 499].map(answered),
	},
	{ answer: "any `3xx`", outcomes: [301, 302, 303, 307, 308].map(answered) },
	{ answer: "nothing within 5 seconds", outcomes: [{ kind: "timeout", stage: "exchange" }] },
	{
		answer: "connection refused or closed",
		outcomes: [broken("connect", "ECONNREFUSED"), broken("exchange", "CLOSED_WITHOUT_ANSWER")],
	},
	{ answer: "name not found in the DNS", outcomes: [broken("look-up", "ENOTFOUND")] },
	{
		answer: "bad certificate: expired, incomplete chain, of another host",
		outcomes: ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "CERT_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID"].map(
			(code) => broken("tls", code),
		),
	},
	{
		answer: "the name leads to a private address",
		outcomes: [
			{ kind: "forbidden-address", address: "10.0.0.5", reason: "10.0.0.5 is in a private network" },
		],
	},
];

function answersTable(): string {
	return table(
		["What came back", "What we do", "The attempt shows"],
		ANSWERS.map(({ answer, outcomes }) => {
			const fates = new Set(outcomes.map(fateOf));
			const [fate] = fates;
			const [shown] = outcomes;
			if (fate === undefined || shown === undefined || fates.size > 1)
				throw new Error(`no one fate: ${answer}`);
			return [answer, fate, explainAttempt(attemptOf(shown)).title];
		}),
	);
}

/**
 * Says what happens to the delivery after an attempt with this result, both at the first attempt and at the
 * last.
 */
function fateOf(outcome: Outcome): string {
	const verdict = judgeOutcome(outcome);
	const [first, last] = [concludeAttempt(verdict, 1, 0), concludeAttempt(verdict, MAX_ATTEMPTS, 0)];
	if (first.state === "delivered") return "**Delivered.** Nothing more is sent.";
	if (first.state === "failed") return "**Failed** at once. Nothing more is sent.";
	if (last.state !== "failed") throw new Error("a delivery that never ends");
	return `**Tried again.** Failed after attempt ${MAX_ATTEMPTS}.`;
}

function answered(status: number): Outcome {
	return { kind: "answered", status };
}

function broken(stage: Extract<Outcome, { kind: "network-error" }>["stage"], code: string): Outcome {
	return { kind: "network-error", stage, code };
}

function attemptOf(outcome: Outcome): AttemptOutcome {
	return {
		result: outcome.kind,
		http_status: outcome.kind === "answered" ? outcome.status : null,
		detail: outcome.kind === "network-error" ? `${outcome.code} (${outcome.stage})` : null,
	};
}

/** Time of the first attempt in the example, a Monday morning, so that the calendar ends on the next day. */
const FIRST_ATTEMPT_MS = Date.UTC(2026, 2, 2, 9);

function retryCalendar(): string {
	let sinceFirstMs = 0;
	const rows = [["1", "at once", "0", clockTime(0)]];
	for (const [index, delayMs] of RETRY_DELAYS_MS.entries()) {
		sinceFirstMs += delayMs;
		rows.push([
			String(index + 2),
			`${duration(delayMs)} later`,
			duration(sinceFirstMs),
			clockTime(sinceFirstMs),
		]);
	}
	return table(["Attempt", "When", "Since the first", "For example"], rows);
}

function clockTime(sinceFirstMs: number): string {
	const at = new Date(FIRST_ATTEMPT_MS + sinceFirstMs);
	const day = at.toLocaleDateString("en-GB", { weekday: "long", timeZone: "UTC" });
	return `${day} ${at.toISOString().slice(11, 16)}`;
}

function duration(ms: number): string {
	const hours = Math.floor(ms / HOUR_MS);
	const minutes = (ms % HOUR_MS) / MINUTE_MS;
	if (ms === DAY_MS) return "24 hours";
	if (hours > 0 && minutes > 0) return `${hours} h ${minutes} min`;
	if (hours > 0) return hours === 1 ? "1 hour" : `${hours} hours`;
	return minutes === 1 ? "1 minute" : `${minutes} minutes`;
}
