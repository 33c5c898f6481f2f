// How many pixel calls are taken: anybody can call the pixel, so that nobody may be able to fill the database with it
// or slow down what shops' servers report. Asked before anything of a call is read.
//
//   the caller's block of addresses ─▶ the programme ─▶ all of this process
//
// In this order, so that whoever floods runs out of their own budget and not of the programme's. Calls from a proxy
// that is not trusted have no block: everybody is behind it.

import type { Budget } from "../domain/token-bucket.ts";
import { createKeptBudgets } from "./kept-budgets.ts";

/**
 * A network of medium size has 70,000 conversions on a day and 500 a second on Black Friday. One block with a fiftieth
 * of all customers, as of a mobile carrier, then has 10 a second.
 */
export const BLOCK_BUDGET: Budget = { burst: 300, perSecond: 10 };
/** A fifth of such a peak in one shop; from one block comes at most a sixth of the burst. */
export const PROGRAMME_BUDGET: Budget = { burst: 2_000, perSecond: 100 };
/** Such a peak, and ten seconds of it at once. */
export const PROCESS_BUDGET: Budget = { burst: 5_000, perSecond: 500 };

/** About 200 bytes each. */
const MAX_BLOCKS = 10_000;
const MAX_PROGRAMMES = 10_000;
const ALL = "all";

export interface PixelBudgets {
	/** `programmeId` is what the address names, whether or not there is such a programme. */
	take(block: string | null, programmeId: string, nowMs: number): boolean;
}

export function createPixelBudgets(): PixelBudgets {
	const blocks = createKeptBudgets(BLOCK_BUDGET, MAX_BLOCKS);
	const programmes = createKeptBudgets(PROGRAMME_BUDGET, MAX_PROGRAMMES);
	const all = createKeptBudgets(PROCESS_BUDGET, 1);
	return {
		take: (block, programmeId, nowMs) =>
			(block === null || blocks.take(block, nowMs)) &&
			programmes.take(programmeId, nowMs) &&
			all.take(ALL, nowMs),
	};
}
