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
