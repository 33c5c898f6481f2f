// Entity tags of single resources (RFC 9110, section 8.8.3). The tag is a hash of the resource as it is answered, so it
// needs no column and changes exactly if the answer does.

import { sha256Hex } from "#core/domain/signature.ts";

/** Number of hex digits in a tag. 128 bits are enough to tell all versions of a resource apart. */
const TAG_DIGITS = 32;

export function tagOf(body: unknown): string {
	return `"${sha256Hex(JSON.stringify(body)).slice(0, TAG_DIGITS)}"`;
}

/**
 * Returns whether a header If-Match or If-None-Match names the tag. An asterisk names every tag. If-None-Match compares
 * weakly, because proxies that compress an answer mark its tag as weak.
 */
export function tagsMatch(header: string | undefined, tag: string, how: "strongly" | "weakly"): boolean {
	if (header === undefined) return false;
	if (header.trim() === "*") return true;
	const names = header.split(",").map((name) => name.trim());
	return names.some((name) => (how === "weakly" ? name.replace(/^W\//, "") : name) === tag);
}
