// One round of attacks. Every hostile shop gets one delivery while it attacks and two while it behaves, all
// in parallel. The neighbour gets deliveries all the time.

import { setTimeout as wait } from "node:timers/promises";
import type { Verdict } from "#core/domain/verdict.ts";
import type { Service } from "../../src/service.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import type { AttemptRow, DeliveryRow, ShopProgramme } from "../support/shop-programme.ts";
import { type StallWatch, watchStalls } from "../support/stalls.ts";
import { type Attack, answers, type Expected } from "./attack.ts";
import type { HostileSetup } from "./hostile-setup.ts";
import type { SeenRequest } from "./hostile-shop.ts";
import type { HostileShops } from "./hostile-shops.ts";

export interface Victim {
	attack: Attack;
	programme: ShopProgramme;
	/** Number of bytes that the shop had sent in all at the last report. */
	sentBytes: number;
}

export interface Suffered {
	name: string;
	stored: StoredAttempt;
	/** Number of bytes that the shop sent. */
	sentBytes: number;
}

export interface RoundResult {
	suffered: readonly Suffered[];
	/** Times from storing a conversion until its callback reached the neighbour. */
	neighbourMs: readonly number[];
	stalls: StallWatch;
}

/** The deadline of contract section 8. */
const DEADLINE_MS = 5_000;
/** Tolerance after the deadline, in addition to stalls of the whole process. */
const LATE_MS = 500;
/** Time over which the starts are spread, so that every round has another order and other overlaps. */
const SPREAD_MS = 500;
const NEIGHBOUR_PAUSE_MS = 50;
/**
 * Maximum wait of the neighbour. It is hundreds of times the usual wait, and well below the deadline, because
 * the neighbour must never wait for another shop.
 */
const NEIGHBOUR_MS = 2_000;
/**
 * Maximum processor time in one piece, because no answer may keep the process busy. It is five times the
 * measured maximum.
 */
const MAX_BUSY_MS = 750;
/**
 * Time within which a connection must be closed. The rest of a body is read until the deadline, and an idle
 * connection stays open for four seconds.
 */
const CLOSED_WITHIN_MS = DEADLINE_MS + 4_000 + LATE_MS;
/**
 * Maximum number of bytes that a shop can send. 128 KiB may be read of an answer, and the rest is buffered by
 * the system on both sides.
 */
const MAX_SENT_BYTES = 16 * 1_024 * 1_024;
const LOOK_EVERY_MS = 100;
/**
 * Time within which an idle connection certainly stays open, which is four seconds. If the machine was too
 * slow to use it in time, the attack is tried again.
 */
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
		const stored = await readLatest(service, programme);
		const faults = findFaults(stored, expected, stalls.longestMs);
		if (faults.length > 0) throw new Error(`a shop that ${name}: ${what}: ${faults.join("; ")}`);
		return stored;
	};

	await programme.saveUrl(shops.url(name));
	const { before, stored } = await provoke(shops, attack, deliver);
	// The first delivery is refused. Otherwise an early or second answer of the attack could not be
	// distinguished from a success.
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
	// The URL is removed, which cancels pending deliveries, so that the next round starts without any.
	await programme.removeUrl();
	return { name, stored, sentBytes: newBytes };
}

type Deliver = (what: string, expected: readonly Expected[]) => Promise<StoredAttempt>;

/**
 * Makes the delivery that is attacked and, if the attack needs it, the delivery just before it on the same
 * connection.
 */
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
		await shops.behave(name, null);
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

/**
 * Returns descriptions of all problems with the requests that arrived. `before` is the delivery just before,
 * on the same connection.
 */
function findArrivalFaults(
	requests: readonly SeenRequest[],
	attacked: AttemptRow,
	before: AttemptRow | null,
): string[] {
	const arrived = arrivalsOf(requests, attacked);
	const faults: string[] = [];
	if (arrived.length > 1) faults.push(`the request came ${arrived.length} times`);
	if (attacked.result === "answered" && arrived.length === 0) faults.push("answered, but never asked");
	// A server that has not proved to be the shop must not receive the callback.
	if (attacked.detail?.endsWith("(tls)") === true && arrived.length > 0)
		faults.push("the request was sent although the handshake failed");
	if (before !== null && !isOnKept(requests, attacked, before))
		faults.push("the attack was not on a kept connection, so it proves nothing");
	return faults;
}

function isOnKept(requests: readonly SeenRequest[], attacked: AttemptRow, before: AttemptRow): boolean {
	const [first] = arrivalsOf(requests, before);
	const [second] = arrivalsOf(requests, attacked);
	return first !== undefined && first.connectionId === second?.connectionId;
}

function arrivalsOf(requests: readonly SeenRequest[], { nonce }: AttemptRow): SeenRequest[] {
	return requests.filter(({ rawHeaders }) => nonce !== null && rawHeaders.includes(nonce));
}

interface StoredAttempt {
	attempt: AttemptRow;
	delivery: DeliveryRow;
	/** Due time in the queue, or null if the delivery is not pending. */
	dueAtMs: number | null;
}

/** Tolerance for the comparison of two clocks, each with a resolution of one millisecond. */
const ROUNDING_MS = 5;
/** Duration above which the deadline must have ended an attempt. The slowest answer comes after 2.5 s. */
const PROMPT_MS = 4_000;
const FIRST_DELAY_MS = 60_000;

/**
 * State of a delivery after each verdict, from the contract's table. It is written independently of the
 * service's rules.
 */
const STATE_OF: Readonly<Record<Verdict, string>> = {
	delivered: "delivered",
	retry: "pending",
	refused: "failed",
	redirect: "failed",
	"forbidden address": "failed",
};

/**
 * Returns descriptions of all problems with a stored attempt. `stalledMs` is the time that the machine may
 * have added.
 */
function findFaults(stored: StoredAttempt, expected: readonly Expected[], stalledMs: number): string[] {
	const { attempt } = stored;
	const match = expected.find((one) => one.result === attempt.result && one.status === attempt.http_status);
	if (match === undefined) {
		const wanted = expected.map(({ result, status }) => `${result} ${status ?? ""}`.trim()).join(" or ");
		return [`${attempt.result} ${attempt.http_status ?? attempt.detail ?? ""} in place of ${wanted}`];
	}
	return [
		...checkAttempt(attempt, match),
		...checkTime(attempt, stalledMs),
		...checkConsequence(stored, match.verdict),
	];
}

function checkAttempt({ detail }: AttemptRow, expected: Expected): string[] {
	const isRight = expected.detail === null ? detail === null : expected.detail.test(detail ?? "");
	return isRight ? [] : [`detail "${detail}" is not ${expected.detail}`];
}

function checkTime({ result, took_ms }: AttemptRow, stalledMs: number): string[] {
	const tookMs = took_ms ?? Number.POSITIVE_INFINITY;
	if (result === "timeout" && tookMs < DEADLINE_MS - ROUNDING_MS) return [`timed out after ${tookMs} ms`];
	const mostMs = (result === "timeout" ? DEADLINE_MS + LATE_MS : PROMPT_MS) + stalledMs;
	return tookMs <= mostMs ? [] : [`took ${tookMs} ms, more than ${Math.round(mostMs)}`];
}

function checkConsequence({ attempt, delivery, dueAtMs }: StoredAttempt, verdict: Verdict): string[] {
	const faults: string[] = [];
	if (delivery.last_verdict !== verdict)
		faults.push(`verdict ${delivery.last_verdict} in place of ${verdict}`);
	if (delivery.state !== STATE_OF[verdict]) faults.push(`${delivery.state} in place of ${STATE_OF[verdict]}`);
	if (delivery.attempts !== 1) faults.push(`${delivery.attempts} attempts in place of one`);
	const expectedDueAtMs =
		verdict === "retry" ? attempt.started_at_ms + (attempt.took_ms ?? 0) + FIRST_DELAY_MS : null;
	if (dueAtMs !== expectedDueAtMs) faults.push(`next due at ${dueAtMs} in place of ${expectedDueAtMs}`);
	return faults;
}

/** Returns the programme's latest delivery with its only attempt. */
async function readLatest({ store }: Service, programme: ShopProgramme): Promise<StoredAttempt> {
	const delivery = (await programme.deliveries()).at(-1);
	const attempt = (await programme.attempts()).at(-1);
	if (delivery === undefined || attempt?.delivery_id !== delivery.id) throw new Error("it was not tried");
	const queued = store.db.selectFrom("queue").select("due_at_ms").where("id", "=", delivery.id);
	return { attempt, delivery, dueAtMs: (await queued.executeTakeFirst())?.due_at_ms ?? null };
}

type AttemptWatch = ReturnType<typeof watchAttempts>;

const STORED_LOOK_MS = 25;
/**
 * Time limit for storing an attempt. An attempt takes five seconds at most, and the rest is for a busy
 * machine.
 */
const STORED_WITHIN_MS = 180_000;

function watchAttempts(setup: HostileSetup) {
	let counts: ReadonlyMap<number, number> = new Map();
	let isStopped = false;
	const look = async () => {
		while (!isStopped) {
			counts = await setup.countAttempts();
			await wait(STORED_LOOK_MS);
		}
	};
	const looking = look();
	// The caller handles the rejection later. Without this line, an earlier rejection would end the process.
	looking.catch(() => undefined);
	return {
		/** Runs `act` and waits until the programme has one attempt more than before. */
		async untilOneMore({ receiver_id: id, programId }: ShopProgramme, act: () => Promise<unknown>) {
			const before = (await setup.countAttempts()).get(id) ?? 0;
			const startedMs = performance.now();
			await act();
			while ((counts.get(id) ?? 0) <= before) {
				if (performance.now() - startedMs > STORED_WITHIN_MS) {
					throw new Error(`no attempt of ${programId} was stored within ${STORED_WITHIN_MS} ms`);
				}
				await Promise.race([wait(STORED_LOOK_MS), looking]);
			}
		},
		stop() {
			isStopped = true;
		},
	};
}
