// Files of each kind, judged and brought in over a real database.

import { ok } from "node:assert/strict";
import { createClock } from "../../test/support/clock.ts";
import { createRandom } from "../outside/random.ts";
import type { Store } from "../store/store.ts";
import type { ImportDeps, ImportKindName, JudgedRow } from "./import-kind.ts";
import { importKind } from "./import-kinds.ts";
import { applyImport, previewImport, readThrough } from "./run-import.ts";
import type { ImportSummary } from "./summary.ts";

export function importDeps(store: Store, change: Partial<ImportDeps> = {}): ImportDeps {
	return { store, clock: createClock(), random: createRandom(), personId: null, inviting: null, ...change };
}

export interface Went {
	summary: ImportSummary;
	rows: readonly JudgedRow[];
}

/** The first line names the columns. */
export async function runLines(
	deps: ImportDeps,
	name: ImportKindName,
	lines: readonly string[],
	step: "preview" | "apply",
): Promise<Went> {
	const kind = importKind(name);
	const rows: JudgedRow[] = [];
	const tell = async (batch: readonly JudgedRow[]) => {
		rows.push(...batch);
	};
	const checked = await readThrough(deps, kind, fileOf(lines.join("\n")), `${name}.csv`);
	ok(checked.ok, JSON.stringify(checked));
	const run = step === "preview" ? previewImport : applyImport;
	return { summary: await run(deps, kind, checked.value, tell), rows };
}

/** With where among the statements of each transaction the lock of the links was taken, of those that took it. */
export function watchLinkLock(store: Store): { store: Store; taken: (readonly number[])[] } {
	const taken: (readonly number[])[] = [];
	const transact: Store["transact"] = async (work, options) => {
		const places: number[] = [];
		let statements = 0;
		const watched = async (trx: Parameters<typeof work>[0]) =>
			work(
				trx.withPlugin({
					transformQuery({ node }) {
						statements += 1;
						if (JSON.stringify(node).includes('"link_lock"')) places.push(statements);
						return node;
					},
					transformResult: async ({ result }) => result,
				}),
			);
		const done = await store.transact(watched, options);
		if (places.length > 0) taken.push(places);
		return done;
	};
	return { store: { ...store, transact }, taken };
}

/** How many statements of transactions named the table. */
export function countStatements(store: Store, table: string): { store: Store; counted(): number } {
	let count = 0;
	const transact: Store["transact"] = (work, options) =>
		store.transact(
			(trx) =>
				work(
					trx.withPlugin({
						transformQuery({ node }) {
							if (JSON.stringify(node).includes(`"${table}"`)) count += 1;
							return node;
						},
						transformResult: async ({ result }) => result,
					}),
				),
			options,
		);
	return { store: { ...store, transact }, counted: () => count };
}

export function fileOf(text: string | Uint8Array) {
	async function* read() {
		yield typeof text === "string" ? new TextEncoder().encode(text) : text;
	}
	return { read };
}

/** "2 refused: …", a line each. */
export function wordsOf({ rows }: Went): string[] {
	return rows.map(({ line, verdict: { kind, detail } }) =>
		detail === null ? `${line} ${kind}` : `${line} ${kind}: ${detail}`,
	);
}
