// Reads the facts that a batch needs before it is judged: the shops, and what each module needs to know.

import type { BatchStore } from "../store/batch.ts";
import type { ShopTarget } from "../store/queries/queue.ts";
import type { Db } from "../store/store.ts";
import type { Conversion } from "../store/tables/conversions.ts";
import type { ChangeModule, ReadFacts } from "./change-module.ts";
import type { BatchFacts, ConversionFacts, RequestNeeds } from "./module-facts.ts";

/** Conversions of a batch as they were read, and the shops that receive events about them. */
export interface Found {
	conversions: readonly Conversion[];
	/** Ids of the conversions that are locked. Only these may change. */
	lockedIds: ReadonlySet<number>;
	shops: readonly ShopTarget[];
}

export interface Facts {
	conversions: readonly Conversion[];
	shops: ReadonlyMap<number, ShopTarget>;
	batch: BatchFacts;
	factsOf(stored: Conversion): ConversionFacts;
	/** Facts that the modules know of a conversion that the batch starts. */
	ofStarted: ConversionFacts;
}

export async function readFacts(
	db: Db,
	store: BatchStore,
	modules: readonly ChangeModule[],
	requests: readonly RequestNeeds[],
	{ conversions, lockedIds, shops }: Found,
	nowMs: number,
): Promise<Facts> {
	const asked = { requests, conversions, lockedIds: [...lockedIds] };
	const read: (ReadFacts | undefined)[] = [];
	for (const module of modules) read.push(await module.read?.(db, store, asked));
	// The parts of all modules together are complete, because each module declares its part of both interfaces and
	// returns the whole part.
	const factsOf = (stored: Conversion | null): ConversionFacts => {
		const isLocked = stored === null || lockedIds.has(stored.id);
		return Object.assign({ isLocked }, ...read.map((facts) => facts?.factsOf(stored))) as ConversionFacts;
	};
	return {
		conversions,
		shops: new Map(shops.map((shop) => [shop.programmeId, shop])),
		batch: Object.assign({ nowMs }, ...read.map((facts) => facts?.batch)) as BatchFacts,
		factsOf,
		ofStarted: factsOf(null),
	};
}
