// What happened to a part of a signed request: each kind of damage has a name, a way to recognise it from what was signed
// and what was seen in its place, and what people are told about it in either direction.

import type { Direction } from "./pasted-request.ts";

export interface DamageRule {
	cause: string;
	/** What fills the gap in its sentences, maybe nothing; null when this is not what happened. */
	find(signed: string, seen: string, direction: Direction): string | null;
	/** Of our callback: we signed and sent one thing, and the shop's server saw another. */
	callback(detail: string): string;
	/** Of a request to us, or a signature that the shop computed: over one thing, while the request has another. */
	request(detail: string): string;
}

export interface Damage {
	cause: string;
	text: string;
}

/** The first rule that fits. The last of every list fits everything. */
export function nameDamage(
	rules: readonly DamageRule[],
	signed: string,
	seen: string,
	direction: Direction,
): Damage {
	for (const rule of rules) {
		const detail = rule.find(signed, seen, direction);
		if (detail !== null) return { cause: rule.cause, text: rule[direction](detail) };
	}
	return { cause: "other", text: "It is not what was signed." };
}

/** For rules that need nothing but a condition. */
export function when(holds: boolean, detail = ""): string | null {
	return holds ? detail : null;
}
