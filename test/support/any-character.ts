// Generates any character of Unicode as a unit of fast-check's strings. fast-check has the same unit under the name
// "binary", but it makes a table of a million characters, which takes three seconds in each process.

import fc from "fast-check";

const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;
const LAST_CHARACTER = 0x10ffff;

/** A character, but no half of a surrogate pair. */
export const ANY_CHARACTER: fc.Arbitrary<string> = fc
	.integer({ min: 0, max: LAST_CHARACTER - SURROGATES })
	.map(
		(number) => String.fromCodePoint(number < FIRST_SURROGATE ? number : number + SURROGATES),
		(character) => {
			const [only, ...others] = typeof character === "string" ? character : "";
			const code = only?.codePointAt(0);
			if (code === undefined || others.length > 0) throw new Error("this is not one character");
			return code < FIRST_SURROGATE ? code : code - SURROGATES;
		},
	);
