// Pixel calls that were refused because of their limits (concurrency/admission.ts), counted for the inbound log. One row
// for each call would store the flood itself, so there is one row for each programme and minute with the number of calls.

import { groupDigits } from "../domain/bytes.ts";
import { type Fault, faultOf } from "../domain/fault.ts";
import { MINUTE_MS } from "../domain/time.ts";
import type { Clock, Log } from "../ports.ts";
import { findProgrammesByPublicId } from "../store/queries/programmes.ts";
import type { Store } from "../store/store.ts";
import type { LimitedCalls } from "./deps.ts";
import { refusedRow } from "./inbound-log.ts";

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
