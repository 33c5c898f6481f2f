// Reads the body of a request and checks its fields. It never reads more bytes than the limit, and it refuses
// unknown fields and wrong types. The first problem becomes the fault, which names the field.

import type * as z from "zod";
import {
	API_FAULT_CODES,
	type ApiFaultCode,
	type Fault,
	fault,
	faultOf,
	type Result,
	refusalOf,
	refuse,
	succeed,
} from "../domain/fault.ts";
import { findRepeatedKey } from "../domain/json.ts";

/**
 * Maximum size of a body. The largest sensible report is below 1 KiB. The limit leaves enough room, and a
 * flood of unknown callers still costs little.
 */
export const MAX_BODY_BYTES = 64 * 1024;

const UTF8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Fields in which a JSON number is refused with a fault code of its own, because parsing the number may
 * already have lost its cents.
 */
const AMOUNT_FIELDS: readonly string[] = ["basketValue", "amount"];

const MAX_SHOWN_NAME_LENGTH = 40;

export interface RawBody {
	contentType: string | undefined;
	contentEncoding: string | undefined;
	body: Uint8Array;
}

/** Reads the bytes of the body. The signature covers them, so they are read before the caller is verified. */
export async function readBody(
	request: Request,
	maxBytes = MAX_BODY_BYTES,
	/** Advice for a caller whose body is too large. */
	advice = maxBytes > MAX_BODY_BYTES
		? "Send fewer items in a call."
		: "Send one report per request, with its fields alone.",
): Promise<Result<Uint8Array>> {
	// A body of a GET request has no meaning (RFC 9110), and the adapter does not pass it on.
	if (request.method === "GET") return succeed(new Uint8Array());
	const declaredBytes = Number(request.headers.get("content-length") ?? Number.NaN);
	const tooLarge = () => refusalOf("body_too_large", { bytes: maxBytes, advice });
	if (declaredBytes > maxBytes) return tooLarge();
	try {
		// The HTTP parser passes on no more bytes than the caller declared. Without a declared length the bytes
		// are counted while they are read. That is slower, because the adapter then builds a web stream.
		const bytes = Number.isNaN(declaredBytes)
			? await readCounted(request.body, maxBytes)
			: new Uint8Array(await request.arrayBuffer());
		return bytes === undefined || bytes.length > maxBytes ? tooLarge() : succeed(bytes);
	} catch {
		// Only the caller's connection can fail here, so the failure is written to the inbound log and not to the
		// service log.
		return refuse("malformed_json", "The body broke off before its end. Send the request again.");
	}
}

async function readCounted(stream: Request["body"], maxBytes: number): Promise<Uint8Array | undefined> {
	if (stream === null) return new Uint8Array();
	const chunks: Uint8Array[] = [];
	let count = 0;
	// Leaving the loop cancels the stream, so that the rest is not read.
	for await (const chunk of stream) {
		count += chunk.length;
		if (count > maxBytes) return undefined;
		chunks.push(chunk);
	}
	return Buffer.concat(chunks, count);
}

export function parseJson(
	call: RawBody,
	/** Advice for a caller whose body is not JSON. */
	advice = "Sign and send the same valid bytes.",
): Result<unknown> {
	if (!isPlainJson(call.contentType, call.contentEncoding)) {
		return refusalOf("unsupported_media_type", {});
	}
	const json = decodeJson(call.body);
	if (json === undefined) return refusalOf("malformed_json", { advice });
	const repeated = findRepeatedKey(json.text);
	return repeated === undefined ? succeed(json.value) : refuseRepeated(repeated);
}

/** Decodes a body. Returns undefined if the bytes are not valid JSON in UTF-8. */
function decodeJson(bytes: Uint8Array): { text: string; value: unknown } | undefined {
	try {
		const text = UTF8.decode(bytes);
		return { text, value: JSON.parse(text) };
	} catch {
		return undefined;
	}
}

/**
 * Returns the refusal of a repeated name in a body or a query. A repeated name is ambiguous, because nobody
 * knows which value was meant.
 */
function refuseRepeated(name: string): ReturnType<typeof refuse> {
	const shown = name.slice(0, MAX_SHOWN_NAME_LENGTH);
	return refuse("invalid_field", `${shown} is there more than once. Send it once.`, shown);
}

/** Returns the values of a query by name. Refuses a query that repeats a name. */
export function parseQuery(query: URLSearchParams): Result<Record<string, string>> {
	const values = new Map<string, string>();
	for (const [name, value] of query) {
		if (values.has(name)) return refuseRepeated(name);
		values.set(name, value);
	}
	return succeed(Object.fromEntries(values));
}

export function checkFields<Shape extends z.ZodRawShape, Config extends z.core.$ZodObjectConfig>(
	schema: z.ZodObject<Shape, Config>,
	input: unknown,
): Result<z.output<z.ZodObject<Shape, Config>>> {
	const checked = schema.safeParse(input, { reportInput: true });
	if (checked.success) return succeed(checked.data);
	const { issues } = checked.error;
	// An unknown field is reported first. A misspelt field is both an unknown field and a missing one, and
	// naming the misspelt name helps more.
	const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
	return { ok: false, fault: describeIssue(issue, Object.keys(schema.shape)) };
}

function describeIssue(issue: z.core.$ZodIssue | undefined, fields: readonly string[]): Fault {
	// The path may lead inside a field, as in answers.0.status.
	const field = issue?.path.join(".") ?? "";
	if (issue?.code === "unrecognized_keys") {
		const name = (issue.keys[0] ?? "").slice(0, MAX_SHOWN_NAME_LENGTH);
		const expected = fields.length === 0 ? "This call takes none" : `Known are ${fields.join(", ")}`;
		const where = field === "" ? `here. ${expected}` : `of ${field}`;
		return faultOf("unknown_field", { field: name, where });
	}
	if (field === "") return fault("malformed_json", "Send a JSON object here: { … }.");
	if (issue?.input === undefined) return faultOf("invalid_field", { field, kind: expectedKind(issue) });
	if (AMOUNT_FIELDS.includes(field) && typeof issue.input === "number") {
		return faultOf("amount_not_a_string", { field });
	}
	return fault(codeOf(issue), `${field} ${describeRule(issue)}.`, field);
}

/** Returns the fault code for a broken rule. A schema may define a rule with its own code and sentence. */
function codeOf(issue: z.core.$ZodIssue): ApiFaultCode {
	const own: unknown = issue.code === "custom" ? issue.params?.["code"] : undefined;
	return API_FAULT_CODES.find((code) => code === own) ?? "invalid_field";
}

/** Returns the rule that a value breaks, such as "must be a string". */
function describeRule(issue: z.core.$ZodIssue): string {
	// A schema with a pattern or a rule of its own also has a sentence that says what is expected.
	const hasWords = issue.code === "invalid_format" || issue.code === "custom";
	if (hasWords && issue.message.startsWith("must ")) return issue.message;
	if (issue.code === "too_big" && issue.origin === "int") return `must be at most ${issue.maximum}`;
	if (issue.code === "too_small" && issue.origin === "int") return `must be at least ${issue.minimum}`;
	return `must be ${expectedKind(issue)}`;
}

/** Returns the kind of value that a field must have, such as "a string" or "one of report, decide". */
function expectedKind(issue: z.core.$ZodIssue | undefined): string {
	if (issue?.code === "invalid_value") return `one of ${issue.values.join(", ")}`;
	if (issue?.code !== "invalid_type") return "a valid value";
	const kind = issue.expected === "int" ? "whole number" : issue.expected;
	return `${/^[aeiou]/.test(kind) ? "an" : "a"} ${kind}`;
}

function isPlainJson(contentType: string | undefined, contentEncoding: string | undefined): boolean {
	return (
		/^application\/json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?;?$/i.test(contentType ?? "") &&
		/^(?:identity)?$/i.test(contentEncoding ?? "")
	);
}
