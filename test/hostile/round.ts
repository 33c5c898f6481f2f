// One round: every hostile shop is delivered to once while it attacks and twice while it behaves, all of them
// side by side, and the neighbour gets its deliveries all the while.

import { setTimeout as wait } from "node:timers/promises";
import type { SeededRandom } from "../support/seeded-random.ts";
import type { ShopProgramme } from "../support/shop-programme.ts";
import { findArrivalFaults } from "./arrival-check.ts";
import { type Attack, answers, type Expected } from "./attack.ts";
import { findFaults, LATE_MS, readLatest, type StoredAttempt } from "./attempt-check.ts";
import { type AttemptWatch, watchAttempts } from "./attempt-watch.ts";
import type { HostileSetup } from "./hostile-setup.ts";
import type { HostileShops } from "./hostile-shops.ts";
import { type StallWatch, watchStalls } from "./stalls.ts";

export interface Victim {
	attack: Attack;
	programme: ShopProgramme;
	/** What the shop had sent in all when it was looked at last. */
	sentBytes: number;
}

export interface Suffered {
	name: string;
	stored: StoredAttempt;
	/** What the shop got rid of, in bytes. */
	sentBytes: number;
}

export interface RoundResult {
	suffered: readonly Suffered[];
	/** From a conversion's being stored to the neighbour's receiving the callback. */
	neighbourMs: readonly number[];
	stalls: StallWatch;
}

/** Starts are spread over this, so that every round has another order and other overlaps. */
const SPREAD_MS = 500;
const NEIGHBOUR_PAUSE_MS = 50;
/** Hundreds of times what it takes, and well below the deadline: the neighbour never waits for another's. */
const NEIGHBOUR_MS = 2_000;
/** Of processor time in one piece, five times what was seen: no answer keeps the whole process busy. */
const MAX_BUSY_MS = 750;
/** The rest of a body is read until the deadline, and an idle connection is kept for four seconds. */
const CLOSED_WITHIN_MS = 5_000 + 4_000 + LATE_MS;
/** 128 KiB may be read of an answer; the rest is what the system buffers on both sides. */
const MAX_SENT_BYTES = 16 * 1_024 * 1_024;
const LOOK_EVERY_MS = 100;
/** An idle connection is kept for four seconds; a machine that is slower than that at first gets another try. */
const SURELY_KEPT_MS = 3_000;
const MAX_TRIES = 5;

export async function runRound(
	setup: HostileSetup,
	victims: readonly Victim[],
	random: SeededRandom,
): Promise<RoundResult> {
	const watch = watchAttempts(setup);
	const stalls = watchStalls();
	let isOver = false;
	const neighbour = Promise.allSettled([visitNeighbour(setup, stalls, () => isOver)]);
	const all = victims.map((victim) => ({ victim, delayMs: random.between(0, SPREAD_MS) }));
	const results = await Promise.allSettled(
		all.map(async ({ victim, delayMs }) => {
			await wait(delayMs);
			return suffer(setup, watch, stalls, victim);
		}),
	);
	isOver = true;
	const neighbourResults = await neighbour;
	watch.stop();
	stalls.stop();
	const faults = [...results, ...neighbourResults].flatMap((result) =>
		result.status === "rejected" ? [result.reason] : [],
	);
	const busyMs = Math.round(stalls.longestBusyMs);
	if (busyMs > MAX_BUSY_MS) faults.push(new Error(`the process was busy for ${busyMs} ms in one piece`));
	if (faults.length > 0) throw new AggregateError(faults, faults.map(readMessage).join("\n"));
	return {
		suffered: results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : [])),
		neighbourMs: neighbourResults.flatMap((result) => (result.status === "fulfilled" ? result.value : [])),
		stalls,
	};
}

function readMessage(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}

async function suffer(
	{ service, shops }: HostileSetup,
	watch: AttemptWatch,
	stalls: StallWatch,
	victim: Victim,
): Promise<Suffered> {
	const { attack, programme } = victim;
	const { name } = attack;
	const deliver: Deliver = async (what, expected) => {
		await watch.untilOneMore(programme, () => programme.record(service.random.hex(8)));
		const stored = await readLatest(service, programme.id);
		const faults = findFaults(stored, expected, stalls.longestMs);
		if (faults.length > 0) throw new Error(`a shop that ${name}: ${what}: ${faults.join("; ")}`);
		return stored;
	};

	await programme.saveUrl(shops.url(name));
	const { before, stored } = await provoke(shops, attack, deliver);
	// A refusal first: an early or a second answer of the attack would be taken for success.
	await shops.behave(name, 404);
	await deliver("the first delivery after it", answers(404, "refused"));
	await shops.behave(name, 226);
	await deliver("the second delivery after it", answers(226, "delivered"));
	const sentBytes = await waitUntilClosed(shops, stalls, name);
	const arrivalFaults = findArrivalFaults(shops.requests, stored.attempt, before?.attempt ?? null);
	if (arrivalFaults.length > 0) throw new Error(`a shop that ${name}: ${arrivalFaults.join("; ")}`);
	const newBytes = sentBytes - victim.sentBytes;
	victim.sentBytes = sentBytes;
	if (newBytes > MAX_SENT_BYTES) throw new Error(`a shop that ${name}: could send ${newBytes} bytes`);
	// What waits for its retry is cancelled: the next round begins from nothing.
	await programme.removeUrl();
	return { name, stored, sentBytes: newBytes };
}

type Deliver = (what: string, expected: readonly Expected[]) => Promise<StoredAttempt>;

/** The attack, and what came just before it on the connection to be kept. */
async function provoke(
	shops: HostileShops,
	{ name, isOnKept, expected }: Attack,
	deliver: Deliver,
): Promise<{ before: StoredAttempt | null; stored: StoredAttempt }> {
	for (let tries = 0; tries < MAX_TRIES; tries++) {
		let before: StoredAttempt | null = null;
		if (isOnKept === true) {
			await shops.behave(name, 204);
			before = await deliver("the delivery before the attack", answers(204, "delivered"));
		}
		await shops.attack(name);
		const stored = await deliver("the attack", expected);
		if (before === null || measureGap(before, stored) < SURELY_KEPT_MS) return { before, stored };
	}
	throw new Error(`a shop that ${name}: this machine is too slow to use a connection again in time`);
}

function measureGap({ attempt: { started_at_ms, took_ms } }: StoredAttempt, next: StoredAttempt): number {
	return next.attempt.started_at_ms - started_at_ms - (took_ms ?? 0);
}

async function waitUntilClosed(shops: HostileShops, stalls: StallWatch, name: string): Promise<number> {
	const sinceMs = performance.now();
	for (;;) {
		const { openConnections, sentBytes } = await shops.report(name);
		if (openConnections === 0) return sentBytes;
		if (performance.now() - sinceMs > CLOSED_WITHIN_MS + stalls.longestMs) {
			throw new Error(`a shop that ${name}: ${openConnections} connections are still open`);
		}
		await wait(LOOK_EVERY_MS);
	}
}

async function visitNeighbour(
	setup: HostileSetup,
	stalls: StallWatch,
	isOver: () => boolean,
): Promise<number[]> {
	const tookMs: number[] = [];
	while (!isOver()) {
		const before = setup.received.length;
		await setup.neighbour.record(setup.service.random.hex(8));
		const startedMs = performance.now();
		while (setup.received.length === before) {
			if (performance.now() - startedMs > NEIGHBOUR_MS + stalls.longestMs) {
				throw new Error(`the neighbour's delivery took more than ${NEIGHBOUR_MS} ms`);
			}
			await wait(1);
		}
		tookMs.push(performance.now() - startedMs);
		await wait(NEIGHBOUR_PAUSE_MS);
	}
	return tookMs;
}
