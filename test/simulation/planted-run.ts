// Runs seeds with one defect planted until an auditor sees it: `node planted-run.ts NAME SEEDS`. A process of its
// own, because a module is loaded once.

import { registerHooks } from "node:module";
import { Broken } from "../support/broken.ts";
import { DEFECTS } from "./defects.ts";

const [, , name = "", seeds = "0"] = process.argv;
const defect = DEFECTS.find((known) => known.name === name);
if (defect === undefined) throw new Error(`there is no defect "${name}"`);
const planted = new Set<number>();

registerHooks({
	load(url, context, nextLoad) {
		const loaded = nextLoad(url, context);
		const edits = defect.edits.filter(({ file }) =>
			url.endsWith(file.startsWith("test/") ? `/${file}` : `/src/${file}`),
		);
		if (edits.length === 0) return loaded;
		let source = String(loaded.source);
		for (const edit of edits) {
			if (source.split(edit.find).length !== 2)
				throw new Error(`${edit.file} does not have just one: ${edit.find}`);
			source = source.replace(edit.find, () => edit.put);
			planted.add(defect.edits.indexOf(edit));
		}
		return { ...loaded, source };
	},
});

const { simulate } = await import("./simulation.ts");
if (planted.size !== defect.edits.length)
	throw new Error(`"${name}" was not planted: its file is never loaded`);

process.stdout.write(`${JSON.stringify(await findIt(Number(seeds)))}\n`);

async function findIt(count: number): Promise<{ seed: number; promise: string | null; seen: string } | null> {
	const { seenWith = 1 } = defect ?? {};
	for (const seed of new Set([seenWith, ...Array.from({ length: count }, (_, index) => index + 1)])) {
		try {
			await simulate(seed);
		} catch (error) {
			const seen = error instanceof Error ? error.message : String(error);
			return { seed, promise: error instanceof Broken ? error.promise : null, seen };
		}
	}
	return null;
}
