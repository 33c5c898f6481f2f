// The part of a shop's answer to a callback that is stored for people to read. If the status is not 2xx, four
// headers and the beginning of the body are stored, as text that is safe to show. The excerpt never changes
// the verdict on the attempt.

import * as z from "zod";
import { readJson } from "./json.ts";
import { showBytes } from "./visible-text.ts";

/** Headers as HTTP libraries return them: names in lower case, bytes as Latin-1, repeated headers as a list. */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Maximum number of bytes of a body that are stored. The message of an error page fits into them. */
export const EXCERPT_BODY_BYTES = 2_048;
/**
 * Maximum number of characters of a header that are stored. A Location header may be longer, but nobody reads
 * more than this.
 */
const EXCERPT_HEADER_CHARACTERS = 1_000;

export function excerptAnswer(headers: AnswerHeaders, body: Uint8Array, isCut: boolean): AnswerExcerpt {
	return {
		location: excerptHeader(headers["location"]),
		contentType: excerptHeader(headers["content-type"]),
		server: excerptHeader(headers["server"]),
		retryAfter: excerptHeader(headers["retry-after"]),
		body: showBytes(body.subarray(0, EXCERPT_BODY_BYTES), isCut),
		isCut,
	};
}

function excerptHeader(value: string | readonly string[] | undefined): string | null {
	if (value === undefined) return null;
	const joined = typeof value === "string" ? value : value.join(", ");
	const isCut = joined.length > EXCERPT_HEADER_CHARACTERS;
	const shown = showBytes(Buffer.from(joined.slice(0, EXCERPT_HEADER_CHARACTERS), "latin1"), isCut);
	return isCut || shown.length > EXCERPT_HEADER_CHARACTERS
		? `${shown.slice(0, EXCERPT_HEADER_CHARACTERS)}…`
		: shown;
}

/** Returns the answer as it is stored. The text contains no NUL, which PostgreSQL would refuse. */
export function writeExcerpt(answer: AnswerExcerpt): string {
	return JSON.stringify(answer);
}

/** `isCut` says that the body was longer than the stored part. */
const EXCERPT = z.object({
	location: z.string().nullable().catch(null),
	contentType: z.string().nullable().catch(null),
	server: z.string().nullable().catch(null),
	retryAfter: z.string().nullable().catch(null),
	body: z.string().catch(""),
	isCut: z.boolean().catch(false),
});

export type AnswerExcerpt = z.infer<typeof EXCERPT>;

/** Parses a stored excerpt. Returns null if nothing was stored, or if the stored text cannot be parsed. */
export function readExcerpt(stored: string | null): AnswerExcerpt | null {
	return EXCERPT.safeParse(stored === null ? null : readJson(stored)).data ?? null;
}

const LINE_CHARACTERS = 200;

/** Returns the first line of the stored body, or null if the body is empty or an HTML page. */
export function firstLineOf(stored: string | null): string | null {
	const line = readExcerpt(stored)?.body.trimStart().split("\n", 1)[0]?.trim() ?? "";
	if (line === "" || line.startsWith("<")) return null;
	return line.length > LINE_CHARACTERS ? `${line.slice(0, LINE_CHARACTERS)}…` : line;
}
