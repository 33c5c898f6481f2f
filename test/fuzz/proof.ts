// `npm run fuzz` runs every property with any number of cases. They are new in each run unless a seed is
// given.

import { randomInt } from "node:crypto";
import type { Proof } from "../support/proof.ts";
import { fuzzProperty } from "./fuzz-property.ts";
import { PROPERTIES } from "./properties.ts";

export const fuzzProof: Proof = {
	name: "fuzz",
	summary: "Draws cases for every property of signatures, URLs, amounts, intake, lifecycle and events.",
	options: {
		runs: {
			value: "N",
			help: "cases of a property; an expensive one is drawn less often",
			preset: 20_000,
			least: 1,
		},
		seed: { value: "S", help: "draw the cases of this seed", preset: null },
		property: {
			value: "I",
			help: `only this property, 1 to ${PROPERTIES.length}`,
			preset: null,
			least: 1,
			most: PROPERTIES.length,
		},
	},
	async run({ runs, seed: given, property: only }, progress) {
		const seed = given ?? randomInt(2 ** 31);
		let cases = 0;
		let properties = 0;
		for (const [index, property] of PROPERTIES.entries()) {
			const position = index + 1;
			if (only !== null && only !== undefined && only !== position) continue;
			const tally = await fuzzProperty(property, position, { seed, runs: runs ?? 1 }, progress);
			cases += tally.cases;
			properties++;
		}
		return `${properties} properties held of ${cases} cases, seed ${seed}`;
	},
};
