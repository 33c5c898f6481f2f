// Finds the first difference between two requests, and makes invisible characters in it visible.

import { showUnseen } from "../domain/visible-text.ts";
import type { SignedParts } from "./pasted-request.ts";

export interface Difference {
	part: string;
	/** Number of bytes, in UTF-8, that both texts have in common before the difference. */
	offset: number;
	before: string;
	/** The name of each request and its text from the difference on, shortened. */
	sides: readonly (readonly [name: string, rest: string])[];
}

type Side = readonly [name: string, parts: SignedParts & { text?: string }];

const PARTS = [
	["method", "method"],
	["target", "path and query"],
	["timestamp", "timestamp"],
	["nonce", "nonce"],
	["body", "body"],
	["text", "text to sign"],
] as const;

const SHOWN_BEFORE = 16;
const SHOWN_AFTER = 60;

/** Returns the first difference between two requests, or null if all their parts are equal. */
export function firstDifference(...sides: readonly [one: Side, other: Side]): Difference | null {
	const [[, one], [, other]] = sides;
	const found = PARTS.find(([key]) => one[key] !== other[key]);
	if (found === undefined) return null;
	const [key, part] = found;
	// The texts are split into whole characters instead of UTF-16 code units, so that half a character is never shown.
	const [characters, others] = [Array.from(one[key] ?? ""), Array.from(other[key] ?? "")];
	const at = characters.findIndex((character, index) => character !== others[index]);
	const start = at === -1 ? characters.length : at;
	const shared = characters.slice(0, start);
	return {
		part,
		offset: Buffer.byteLength(shared.join("")),
		before: (start > SHOWN_BEFORE ? "…" : "") + showUnseen(shared.slice(-SHOWN_BEFORE).join("")),
		sides: [
			[sides[0][0], shorten(characters.slice(start))],
			[sides[1][0], shorten(others.slice(start))],
		],
	};
}

function shorten(characters: readonly string[]): string {
	const shown = showUnseen(characters.slice(0, SHOWN_AFTER).join(""));
	return characters.length > SHOWN_AFTER ? `${shown}…` : shown;
}
