// What a shop answered, as far as it is kept for people to read: of an answer that is not 2xx, four headers and the
// beginning of the body, as text that is safe to show. It never changes a verdict.

import * as z from "zod";
import { readJson } from "./json.ts";
import { showBytes } from "./visible-text.ts";

/** As HTTP libraries give them: lower-case names, bytes as Latin-1, several of one name as a list. */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The first bytes of a body: enough for the message of an error page. */
export const KEPT_BODY_BYTES = 2_048;
/** Of one header; a Location may be long, and what is beyond this nobody reads. */
const KEPT_HEADER_CHARACTERS = 1_000;

export function keepAnswer(headers: AnswerHeaders, body: Uint8Array, isCut: boolean): KeptAnswer {
	return {
		location: keepHeader(headers["location"]),
		contentType: keepHeader(headers["content-type"]),
		server: keepHeader(headers["server"]),
		retryAfter: keepHeader(headers["retry-after"]),
		body: showBytes(body.subarray(0, KEPT_BODY_BYTES), isCut),
		isCut,
	};
}

function keepHeader(value: string | readonly string[] | undefined): string | null {
	if (value === undefined) return null;
	const joined = typeof value === "string" ? value : value.join(", ");
	const isCut = joined.length > KEPT_HEADER_CHARACTERS;
	const shown = showBytes(Buffer.from(joined.slice(0, KEPT_HEADER_CHARACTERS), "latin1"), isCut);
	return isCut || shown.length > KEPT_HEADER_CHARACTERS
		? `${shown.slice(0, KEPT_HEADER_CHARACTERS)}…`
		: shown;
}

/** As it is stored: text without a NUL, which PostgreSQL would not take. */
export function writeKeptAnswer(answer: KeptAnswer): string {
	return JSON.stringify(answer);
}

/** `isCut`: more of the body was to come. */
const KEPT = z.object({
	location: z.string().nullable().catch(null),
	contentType: z.string().nullable().catch(null),
	server: z.string().nullable().catch(null),
	retryAfter: z.string().nullable().catch(null),
	body: z.string().catch(""),
	isCut: z.boolean().catch(false),
});

export type KeptAnswer = z.infer<typeof KEPT>;

/** Null where nothing was kept. */
export function readKeptAnswer(stored: string | null): KeptAnswer | null {
	return KEPT.safeParse(stored === null ? null : readJson(stored)).data ?? null;
}

const LINE_CHARACTERS = 200;

/** The receiver's own words; null where it said nothing, or sent a page. */
export function firstLineOf(stored: string | null): string | null {
	const line = readKeptAnswer(stored)?.body.trimStart().split("\n", 1)[0]?.trim() ?? "";
	if (line === "" || line.startsWith("<")) return null;
	return line.length > LINE_CHARACTERS ? `${line.slice(0, LINE_CHARACTERS)}…` : line;
}
