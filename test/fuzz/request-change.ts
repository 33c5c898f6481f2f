// Changes that make a signed request invalid. They apply both to requests of shops and to callbacks, and each
// of these adds its own.

import fc from "fast-check";
import { ANY_TAMPERING, type Tampering } from "./tampering.ts";

export type HeaderTampering = Tampering | "drop" | "empty" | "send twice";

export type RequestChange<Part extends string, Name extends string> =
	| { part: Part; tampering: Tampering }
	| { part: "header"; name: Name; tampering: HeaderTampering }
	| { part: "body written anew" }
	| { part: "clock"; bySeconds: number };

const ANY_HEADER_TAMPERING: fc.Arbitrary<HeaderTampering> = fc.oneof(
	{ weight: 3, arbitrary: ANY_TAMPERING },
	fc.constantFrom("drop" as const, "empty" as const, "send twice" as const),
);

/** Generates differences of the timestamp that are just beyond the contract's five minutes, or far beyond. */
const ANY_SECONDS_OFF = fc
	.tuple(fc.integer({ min: 301, max: 10_000_000 }), fc.constantFrom(1, -1))
	.map(([seconds, sign]) => seconds * sign);

/**
 * Generates changes of a request. `signature` is the header whose letter case does not matter. It is drawn
 * often, so that some changes produce an equivalent request.
 */
export function anyRequestChange<Part extends string, Name extends string>(
	parts: readonly Part[],
	names: readonly Name[],
	signature: NoInfer<Name>,
): fc.Arbitrary<RequestChange<Part, Name>> {
	return fc.oneof(
		{ weight: 3, arbitrary: fc.record({ part: fc.constantFrom(...parts), tampering: ANY_TAMPERING }) },
		{
			weight: 3,
			arbitrary: fc.record({
				part: fc.constant("header" as const),
				name: fc.constantFrom(...names),
				tampering: ANY_HEADER_TAMPERING,
			}),
		},
		{ weight: 2, arbitrary: fc.constant({ part: "body written anew" as const }) },
		{
			weight: 3,
			arbitrary: fc.record({ part: fc.constant("clock" as const), bySeconds: ANY_SECONDS_OFF }),
		},
		fc.constant({
			part: "header" as const,
			name: signature,
			tampering: { how: "turn case" as const },
		}),
	);
}
