// Counts pixel calls that were refused because of rate limits (concurrency/admission.ts), for the inbound
// log. A row for each call would store the flood itself, so there is one row for each programme and minute,
// with the number of calls.

import { createSingleFlight } from "../../concurrency/single-flight.ts";
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

/**
 * Maximum number of programmes whose calls are counted separately in a minute. Calls for further programmes
 * appear only in the service log.
 */
const MAX_TALLIES = 100;
/**
 * Maximum number of address blocks that are counted for a programme in a minute. If there are more, the row says "or
 * more".
 */
const MAX_COUNTED_BLOCKS = 1_000;

export function createLimitedCalls({
	store,
	clock,
	log,
}: {
	store: Pick<Store, "db" | "batch">;
	clock: Pick<Clock, "nowMs" | "after">;
	log: Log;
}): LimitedCalls {
	let tallies = new Map<string, Tally>();
	let total = 0;
	let cancel = (): void => undefined;
	const writing = createSingleFlight({
		run: write,
		onError: (error) => log.error({ err: error }, "limited pixel calls could not be logged"),
	});

	function note(programmeId: string, block: string | null): void {
		if (total === 0) cancel = clock.after(MINUTE_MS, writing.request);
		total++;
		let tally = tallies.get(programmeId);
		if (tally === undefined) {
			if (tallies.size >= MAX_TALLIES) return;
			tally = { calls: 0, blocks: new Set() };
			tallies.set(programmeId, tally);
		}
		tally.calls++;
		if (block !== null && tally.blocks.size < MAX_COUNTED_BLOCKS) tally.blocks.add(block);
	}

	async function write(): Promise<void> {
		cancel();
		if (total === 0) return;
		const counted = tallies;
		const calls = total;
		const nowMs = clock.nowMs();
		tallies = new Map();
		total = 0;
		log.warn({ calls, programmes: counted.size }, "pixel calls were refused because of their limits");
		const programmes = await findProgrammesByPublicId(store.db, [...counted.keys()]);
		const rows = programmes.flatMap(({ id, public_id }) => {
			const tally = counted.get(public_id);
			return tally === undefined ? [] : [rowOf(public_id, id, tally, nowMs)];
		});
		await store.batch.write(store.db, { inboundCalls: rows });
	}

	return {
		note,
		stop() {
			writing.request();
			return writing.whenIdle();
		},
	};
}

function rowOf(publicId: string, programmeId: number, tally: Tally, nowMs: number) {
	const target = `/pixel/${publicId}.gif`;
	const call = { kind: "pixel", method: "GET", target, requestId: null, findBlock: () => null } as const;
	return refusedRow(call, describe(tally), nowMs, { programmeId, httpStatus: 200 });
}

/**
 * Returns a sentence for the shop's staff that says what happened, what it means for them, and what they can
 * do.
 */
function describe({ calls, blocks }: Tally): Fault {
	const counted = calls === 1 ? "1 pixel call was" : `${groupDigits(calls)} pixel calls were`;
	const where = blocks.size === 1 ? "1 address block" : `${groupDigits(blocks.size)} address blocks`;
	const orMore = blocks.size < MAX_COUNTED_BLOCKS ? "" : " or more";
	const from = blocks.size === 0 ? "" : ` They came from ${where}${orMore}.`;
	return faultOf("pixel_limited", { calls: counted, from });
}
