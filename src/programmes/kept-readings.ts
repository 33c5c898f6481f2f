// What nearly every call needs and hardly ever changes (who a key belongs to, a programme and its secrets), kept for a
// second. A change made in this process counts at once; one made in another process, after that second.

import { SECOND_MS } from "../domain/time.ts";
import type { AccountsDeps } from "../people/deps.ts";
import { createBatches } from "../store/queries/batches.ts";
import type { Programme } from "../store/queries/programmes.ts";

/** As long as an engine goes by a Postback URL that it has read: callbacks/targets.ts. */
const FRESH_MS = SECOND_MS;
/** About a kilobyte each. Beyond it, what was read longest ago is forgotten. */
const MAX_KEPT = 10_000;
/** Names that are asked for in one statement. */
const MAX_READ_AT_ONCE = 256;

export interface KeptReadings<Value> {
	/** Undefined for a name that nobody has: that is not kept, because a stranger could think of any number of them. */
	find(name: string): Promise<Value | undefined>;
	/** What is known of this programme, or is being read just now, may be wrong. */
	forget(programmeId: number): void;
}

interface Reading<Value> {
	value: Value;
	readAtMs: number;
}

export function createKeptReadings<Value extends { programme: Programme }>(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	readMany: (names: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
): KeptReadings<Value> {
	/** In the order in which they were read. */
	const kept = new Map<string, Reading<Value>>();
	/** Whoever asks for the same meanwhile gets the same. */
	let underWay = new Map<string, Promise<Value | undefined>>();
	/** Counts what may have changed: a reading that began before is not kept. */
	let changes = 0;
	const batches = createBatches(
		clock,
		async (names: readonly string[]) => {
			const found = await readMany(names);
			return names.map((name) => found.get(name));
		},
		{ maxSize: MAX_READ_AT_ONCE },
	);

	function startReading(name: string): Promise<Value | undefined> {
		const reading = read(name).finally(() => {
			if (underWay.get(name) === reading) underWay.delete(name);
		});
		underWay.set(name, reading);
		return reading;
	}

	async function read(name: string): Promise<Value | undefined> {
		const [changesBefore, readAtMs] = [changes, clock.nowMs()];
		const value = await batches.add(name);
		if (value !== undefined && changes === changesBefore) keep(name, { value, readAtMs });
		return value;
	}

	function keep(name: string, reading: Reading<Value>): void {
		kept.delete(name);
		kept.set(name, reading);
		const [oldest] = kept.size > MAX_KEPT ? kept.keys() : [];
		if (oldest !== undefined) kept.delete(oldest);
	}

	function forget(programmeId: number): void {
		changes++;
		underWay = new Map();
		for (const [name, { value }] of kept) if (value.programme.id === programmeId) kept.delete(name);
	}

	store.onChange(forget);
	return {
		async find(name) {
			const ageMs = clock.nowMs() - (kept.get(name)?.readAtMs ?? Number.NEGATIVE_INFINITY);
			// Read in the future: the clock was set back, so it is not known how old this is.
			if (ageMs >= 0 && ageMs < FRESH_MS) return kept.get(name)?.value;
			return underWay.get(name) ?? startReading(name);
		},
		forget,
	};
}
