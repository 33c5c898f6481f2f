// Which lines of a file are about the same thing, and whether they say the same. Known before anything is judged, for a
// file of any length: some fifty bytes a line are kept, whatever stands on it.

import { hash } from "node:crypto";

/** Another line about the same thing: it says something else, or just the same and comes first. Null when there is none. */
export type OtherLine = { kind: "contradicts" | "repeats"; line: number } | null;

export interface SeenLines {
	note(line: number, key: string, says: string): void;
	/** Once all are noted. Where two differ, none of them is believed: which one was meant cannot be known. */
	findOther(line: number, key: string, says: string): OtherLine;
	/** Whether any line has another. */
	readonly hasOthers: boolean;
}

const FIRST_SLOTS = 1_024;
/** How full the table may be before it is doubled. */
const MAX_LOAD = 0.6;

/** An open hash table in typed arrays. The key is known by 64 bits of its hash: of ten million lines no two meet by chance. */
interface Table {
	slots: number;
	high: Uint32Array;
	low: Uint32Array;
	says: Uint32Array;
	/** The first line; 0 for a free slot. */
	line: Uint32Array;
	/** The first line that says something else; 0 for none. */
	different: Uint32Array;
}

export function createSeenLines(): SeenLines {
	let table = createTable(FIRST_SLOTS);
	let count = 0;
	let hasOthers = false;
	return {
		get hasOthers() {
			return hasOthers;
		},
		note(line, key, says) {
			const { high, low } = hashOf(key);
			const slot = findSlot(table, high, low);
			if (table.line[slot] !== 0) {
				hasOthers = true;
				if (table.different[slot] === 0 && table.says[slot] !== hashOf(says).low)
					table.different[slot] = line;
				return;
			}
			table.high[slot] = high;
			table.low[slot] = low;
			table.says[slot] = hashOf(says).low;
			table.line[slot] = line;
			count += 1;
			if (count > table.slots * MAX_LOAD) table = grow(table);
		},
		findOther(line, key, says) {
			const { high, low } = hashOf(key);
			const slot = findSlot(table, high, low);
			const [first = 0, different = 0] = [table.line[slot], table.different[slot]];
			if (different !== 0) {
				return { kind: "contradicts", line: table.says[slot] === hashOf(says).low ? different : first };
			}
			return first === line || first === 0 ? null : { kind: "repeats", line: first };
		},
	};
}

function createTable(slots: number): Table {
	const column = () => new Uint32Array(slots);
	return { slots, high: column(), low: column(), says: column(), line: column(), different: column() };
}

/** Where it is, or where it belongs. */
function findSlot({ slots, high, low, line }: Table, keyHigh: number, keyLow: number): number {
	for (let slot = keyLow % slots; ; slot = (slot + 1) % slots) {
		if (line[slot] === 0 || (high[slot] === keyHigh && low[slot] === keyLow)) return slot;
	}
}

function grow(table: Table): Table {
	const larger = createTable(table.slots * 2);
	for (let slot = 0; slot < table.slots; slot++) {
		if (table.line[slot] === 0) continue;
		const moved = findSlot(larger, table.high[slot] ?? 0, table.low[slot] ?? 0);
		for (const column of ["high", "low", "says", "line", "different"] as const) {
			larger[column][moved] = table[column][slot] ?? 0;
		}
	}
	return larger;
}

function hashOf(text: string): { high: number; low: number } {
	const digest = hash("sha1", text, "buffer");
	return { high: digest.readUInt32BE(0), low: digest.readUInt32BE(4) };
}
