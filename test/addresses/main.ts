// The command of `npm run addresses`. No byte goes to an address that the policy forbids, and no public address is
// refused (invariant 7).

import { runProof } from "../support/proof.ts";
import { allEntries } from "./corpus.ts";
import { judgeEntries } from "./judge-entries.ts";
import { proveRebinding } from "./rebinding.ts";

process.exitCode = await runProof(
	{
		name: "addresses",
		summary: "Saves and sends to a corpus of URLs, and to names whose addresses change.",
		options: {
			rounds: { value: "COUNT", help: "rounds of names whose addresses change", preset: 100 },
			seed: {
				value: "NUMBER",
				help: "what chance is drawn from; the time of day if not given",
				preset: null,
			},
		},
		async run(options, progress) {
			const rounds = options["rounds"] ?? 0;
			const seed = options["seed"] ?? Date.now() % 1_000_000_000;
			const replay = `npm run addresses -- --rounds ${rounds} --seed ${seed}`;
			const corpus = await judgeEntries(allEntries(), progress, replay);
			const rebinding = await proveRebinding(rounds, seed, progress, replay);
			return [
				`${corpus.entries} entries saved and sent`,
				`${corpus.questions} DNS questions`,
				`${rebinding.cases} cases and ${rebinding.rounds} rounds of rebinding`,
				`${rebinding.delivered} delivered and ${rebinding.refused} refused there`,
				`seed ${seed}`,
			].join(", ");
		},
	},
	process.argv.slice(2),
);
