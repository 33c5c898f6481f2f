// What is there while a round runs, and what it has witnessed so far.

import { ok } from "node:assert/strict";
import { CLAIM_LAPSE_MS } from "../../src/store/queue.ts";
import { until } from "../support/until.ts";
import { checkArrivals } from "./arrivals.ts";
import { checkBalance, type Witnessed } from "./balance.ts";
import type { Intake } from "./intake.ts";
import type { Ledger } from "./ledger.ts";
import type { ReceivingShop } from "./receiving-shop.ts";
import type { QueueRow, Setup } from "./setup.ts";

export interface RoundState {
	setup: Setup;
	shop: ReceivingShop;
	intake: Intake;
	hits: Map<string, Set<number>>;
	/** Those of the hits that were kills: only a process that died can have forgotten what it sent. */
	kills: Map<string, Set<number>>;
	lapsed: Map<string, Set<number>>;
	earlier: Ledger | null;
	/** When nothing was due or under way, the last time somebody looked. */
	quietAtMs: number;
	/** The round has failed: whatever still runs must end. */
	isAbandoned: boolean;
}

/** Reading the queue costs the services something, too. */
const LOOK_INTERVAL_MS = 80;

export function witnessedIn({ intake, earlier, hits, lapsed }: RoundState): Witnessed {
	return { answered: intake.answered, earlier, hits, lapsed };
}

/** Right after a crash: what is claimed now may be nobody's. */
export async function noteHits(round: RoundState, isKill: boolean): Promise<void> {
	const ledger = await round.setup.readLedger();
	noteClaims(ledger, round.hits);
	if (isKill) noteClaims(ledger, round.kills);
}

function noteClaims(ledger: Ledger, claims: Map<string, Set<number>>): void {
	for (const { key, queued } of ledger.deliveries) {
		if (queued === null || queued.claim === null) continue;
		const known = claims.get(key) ?? new Set();
		claims.set(key, known.add(queued.claim));
	}
}

/** While nobody reports anything: does the ledger balance? */
export async function look(round: RoundState): Promise<Ledger> {
	const { setup, shop } = round;
	await shop.checked();
	const ledger = await setup.readLedger();
	checkBalance(ledger, witnessedIn(round));
	// While services run, something may arrive between reading the one and the other.
	if (setup.processes.isDown) checkArrivals(ledger, shop.arrivals, round.kills);
	round.earlier = ledger;
	return ledger;
}

/** After a clean stop: claimed is only what an earlier crash left so. */
export function checkReleased({ hits }: RoundState, ledger: Ledger): void {
	for (const { key, queued } of ledger.deliveries) {
		if (queued === null || queued.claim === null) continue;
		ok(hits.get(key)?.has(queued.claim), `${key}: a clean stop left its claim behind`);
	}
}

/** Time goes by in a stopped database instead of here. */
export async function passTime(round: RoundState, ledger: Ledger, ms: number): Promise<void> {
	if (ms < CLAIM_LAPSE_MS) throw new Error("a claim lapses before anything else does");
	noteClaims(ledger, round.lapsed);
	await round.setup.passTime(ms);
}

/** Until the services have done all that is due, but for what a crash left claimed. */
export async function untilQuiet(round: RoundState): Promise<void> {
	const caught = new Set([...round.hits.values()].flatMap((claims) => [...claims]));
	let restless: readonly QueueRow[] = [];
	await until(
		async () => {
			await new Promise((resolve) => setTimeout(resolve, LOOK_INTERVAL_MS));
			round.setup.processes.checkAlive();
			const nowMs = Date.now();
			const rows = await round.setup.readQueue();
			round.quietAtMs = nowMs;
			restless = rows.filter(
				({ dueAtMs, claim }) => dueAtMs <= nowMs || (claim !== null && !caught.has(claim)),
			);
			return restless.length === 0;
		},
		() => `due or under way are still ${JSON.stringify(restless)}; now it is ${round.quietAtMs}`,
	);
}
