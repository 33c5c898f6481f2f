// How many pixel calls are taken: anybody can call the pixel, so that nobody may be able to fill the database with it
// or slow down what shops' servers report.
//
//   budgets: the caller's block of addresses ─▶ the programme ─▶ all of this process   before anything of a call is read
//   slots: few at a time work with the database, the others wait
//   late answer: what is not taken is answered a second later
//
// The budgets stand in this order so that whoever floods runs out of their own and not of the programme's. Private
// addresses share one, of five blocks' rate: they may be one machine, or a proxy that nobody trusts with everybody behind.

import { groupDigits } from "../domain/bytes.ts";
import { type Fault, faultOf } from "../domain/fault.ts";
import { MINUTE_MS } from "../domain/time.ts";
import type { Clock, Log } from "../ports.ts";
import { findProgrammesByPublicId } from "../store/queries/programmes.ts";
import type { Store } from "../store/store.ts";
import { type Budget, createKeptBudgets } from "./budgets.ts";
import type { LimitedCalls } from "./deps.ts";
import { refusedRow } from "./inbound-log.ts";

/**
 * A network of medium size has 70,000 conversions on a day and 500 a second on Black Friday. One block with a fiftieth
 * of all customers, as of a mobile carrier, then has 10 a second.
 */
export const BLOCK_BUDGET: Budget = { burst: 300, perSecond: 10 };
/** Of all private addresses together: half of what one programme may have. */
export const INSIDE_BUDGET: Budget = { burst: 300, perSecond: 50 };
/** A fifth of such a peak in one shop; from one block comes at most a sixth of the burst. */
export const PROGRAMME_BUDGET: Budget = { burst: 2_000, perSecond: 100 };
/** Such a peak, and ten seconds of it at once. */
export const PROCESS_BUDGET: Budget = { burst: 5_000, perSecond: 500 };

export function createPixelBudgets() {
	const blocks = createKeptBudgets(BLOCK_BUDGET);
	const inside = createKeptBudgets(INSIDE_BUDGET, 1);
	const programmes = createKeptBudgets(PROGRAMME_BUDGET);
	const all = createKeptBudgets(PROCESS_BUDGET, 1);
	return {
		/** `programmeId` is what the address names, whether or not there is such a programme. */
		take: (block: string | null, programmeId: string, nowMs: number): boolean =>
			(block === null ? inside.take("inside", nowMs) : blocks.take(block, nowMs)) &&
			programmes.take(programmeId, nowMs) &&
			all.take("all", nowMs),
	};
}

/** They share a batch with signed calls: so many cost it a few milliseconds, and still come to 500 a second and more. */
export const MAX_AT_ONCE = 32;
/** Two seconds of a Black Friday's calls, and three times what one block of addresses may send at once. */
export const MAX_WAITING = 1_000;

/**
 * After each, whoever else has come in gets on first: whatever a flood brings, a shop's signed request finds at most
 * so many pixel calls ahead of it.
 */
export function createPixelSlots(clock: Pick<Clock, "yieldLoop">) {
	let working = 0;
	/** Whoever came first goes first. */
	const waiting: (() => void)[] = [];

	async function workInSlot<Answer>(work: () => Promise<Answer>): Promise<Answer> {
		if (working >= MAX_AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
		else working++;
		try {
			return await work();
		} finally {
			// A file database answers without ever going back to the event loop: without this nobody else would be read.
			await clock.yieldLoop();
			// The slot goes over to the next; it is given back only when nobody waits.
			const next = waiting.shift();
			if (next === undefined) working--;
			else next();
		}
	}

	return {
		/** Undefined when too many wait already: nothing was done. */
		take: <Answer>(work: () => Promise<Answer>): Promise<Answer> | undefined =>
			waiting.length >= MAX_WAITING ? undefined : workInSlot(work),
	};
}

interface Tally {
	calls: number;
	blocks: Set<string>;
}

/** A flood that names more programmes in a minute is in the service's log alone. */
const MAX_TALLIES = 100;
/** More are counted as so many or more. */
const MAX_COUNTED_BLOCKS = 1_000;

/**
 * Calls that were not taken, in the inbound log: a row for each would be the flood again, so that there is one for each
 * programme and minute, which says how many there were.
 */
export function createLimitedCalls({
	store,
	clock,
	log,
}: {
	store: Pick<Store, "db" | "writes">;
	clock: Pick<Clock, "nowMs" | "after">;
	log: Log;
}): LimitedCalls {
	let tallies = new Map<string, Tally>();
	let total = 0;
	let cancel = (): void => undefined;
	/** One after the other, and whoever stops waits for the last. */
	let written: Promise<void> = Promise.resolve();

	function note(programmeId: string, block: string | null): void {
		if (total++ === 0) cancel = clock.after(MINUTE_MS, () => void writeNext());
		let tally = tallies.get(programmeId);
		if (tally === undefined) {
			if (tallies.size >= MAX_TALLIES) return;
			tally = { calls: 0, blocks: new Set() };
			tallies.set(programmeId, tally);
		}
		tally.calls++;
		if (block !== null && tally.blocks.size < MAX_COUNTED_BLOCKS) tally.blocks.add(block);
	}

	function writeNext(): Promise<void> {
		written = written.then(write);
		return written;
	}

	/** Never rejects: it is nobody's answer. */
	async function write(): Promise<void> {
		cancel();
		if (total === 0) return;
		const [counted, calls, nowMs] = [tallies, total, clock.nowMs()];
		tallies = new Map();
		total = 0;
		log.warn({ calls, programmes: counted.size }, "more pixel calls came than their limits let through");
		try {
			const known = await findProgrammesByPublicId(store.db, [...counted.keys()]);
			const rows = known.flatMap(({ id, public_id }) => {
				const tally = counted.get(public_id);
				return tally === undefined ? [] : [rowOf(public_id, id, tally, nowMs)];
			});
			await store.writes.insertInboundCalls(store.db, rows);
		} catch (error) {
			log.error({ err: error, calls }, "limited pixel calls could not be logged");
		}
	}

	return { note, stop: writeNext };
}

function rowOf(publicId: string, programmeId: number, tally: Tally, nowMs: number) {
	const target = `/pixel/${publicId}.gif`;
	const call = { kind: "pixel", method: "GET", target, findBlock: () => null } as const;
	return refusedRow(call, describe(tally), nowMs, { programmeId, httpStatus: 200 });
}

/** For the shop's people: what happened, what it means for them, and what to do. */
function describe({ calls, blocks }: Tally): Fault {
	const counted = calls === 1 ? "1 pixel call was" : `${groupDigits(calls)} pixel calls were`;
	const where = blocks.size === 1 ? "1 network" : `${groupDigits(blocks.size)} networks`;
	const from =
		blocks.size === 0 ? "" : ` They came from ${where}${blocks.size < MAX_COUNTED_BLOCKS ? "" : " or more"}.`;
	return faultOf("pixel_limited", { calls: counted, from });
}
