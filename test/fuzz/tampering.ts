// A small change to bytes or text, by chance or by an attacker.

import fc from "fast-check";

/** A change, with its position as a share of the length, so that it fits any input. */
export type Tampering =
	| { how: "flip"; at: number; bit: number }
	| { how: "cut"; at: number }
	| { how: "append"; byte: number }
	| { how: "double" }
	| { how: "insert space"; at: number }
	| { how: "turn case" };

const SHARE = fc.integer({ min: 0, max: 9_999 }).map((part) => part / 10_000);

export const ANY_TAMPERING: fc.Arbitrary<Tampering> = fc.oneof(
	{
		weight: 4,
		arbitrary: fc.record({
			how: fc.constant("flip" as const),
			at: SHARE,
			bit: fc.integer({ min: 0, max: 7 }),
		}),
	},
	{ weight: 1, arbitrary: fc.record({ how: fc.constant("cut" as const), at: SHARE }) },
	{
		weight: 1,
		arbitrary: fc.record({ how: fc.constant("append" as const), byte: fc.integer({ min: 0, max: 255 }) }),
	},
	{ weight: 1, arbitrary: fc.constant({ how: "double" as const }) },
	{ weight: 1, arbitrary: fc.record({ how: fc.constant("insert space" as const), at: SHARE }) },
	{ weight: 1, arbitrary: fc.constant({ how: "turn case" as const }) },
);

export function tamperBytes(bytes: Uint8Array, tampering: Tampering): Buffer<ArrayBuffer> {
	const changed = Buffer.from(bytes);
	switch (tampering.how) {
		case "flip": {
			const at = Math.floor(tampering.at * changed.length);
			if (changed.length > 0) changed.writeUInt8(changed.readUInt8(at) ^ (1 << tampering.bit), at);
			return changed;
		}
		case "cut":
			return changed.subarray(0, Math.floor(tampering.at * changed.length));
		case "append":
			return Buffer.concat([changed, Buffer.from([tampering.byte])]);
		case "double":
			return Buffer.concat([changed, changed]);
		case "insert space": {
			const at = Math.floor(tampering.at * (changed.length + 1));
			return Buffer.concat([changed.subarray(0, at), Buffer.from(" "), changed.subarray(at)]);
		}
		case "turn case": {
			const text = changed.toString("latin1");
			const turned = /[a-z]/.test(text) ? text.toUpperCase() : text.toLowerCase();
			return Buffer.from(turned, "latin1");
		}
		default:
			return tampering satisfies never;
	}
}

/**
 * Changes a text. The bytes are read and written as Latin-1, because headers and request lines are read that
 * way.
 */
export function tamperText(text: string, tampering: Tampering): string {
	return tamperBytes(Buffer.from(text, "latin1"), tampering).toString("latin1");
}
