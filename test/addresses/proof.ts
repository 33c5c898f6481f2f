// `npm run addresses`: no byte goes to an address that the policy forbids, and none that is public is refused
// (invariant 7).

import type { Proof } from "../support/proof.ts";
import { proveCorpus } from "./prove-corpus.ts";
import { proveRandom } from "./prove-random.ts";
import { proveRebinding } from "./prove-rebinding.ts";

export const addressesProof: Proof = {
	name: "addresses",
	summary:
		"Puts a corpus of URLs, names that change their mind, and random addresses through save and delivery.",
	options: {
		runs: { value: "COUNT", help: "random addresses", preset: 20_000 },
		rounds: { value: "COUNT", help: "rounds of names that change their mind", preset: 100 },
		seed: { value: "NUMBER", help: "what chance is drawn from; the time of day if not given", preset: null },
	},
	async run(options, progress) {
		const runs = options["runs"] ?? 0;
		const rounds = options["rounds"] ?? 0;
		const seed = options["seed"] ?? Date.now() % 1_000_000_000;
		const replay = `npm run addresses -- --runs ${runs} --rounds ${rounds} --seed ${seed}`;
		const corpus = await proveCorpus(progress, replay);
		const rebinding = await proveRebinding(rounds, seed, progress, replay);
		const random = await proveRandom(runs, seed, progress, replay);
		return [
			`${corpus.entries} entries through save and delivery`,
			`${corpus.questions} DNS questions`,
			`${corpus.canaries} canaries silent`,
			`${rebinding.cases} cases and ${rebinding.rounds} rounds of rebinding`,
			`${rebinding.delivered} delivered and ${rebinding.refused} refused there`,
			`${random.addresses} random addresses (${random.passed} public, ${random.refused} reserved)`,
			`seed ${seed}`,
		].join(", ");
	},
};
