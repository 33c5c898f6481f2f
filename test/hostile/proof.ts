// The proof with hostile shops. It runs rounds of attacks on the whole service, and then checks memory,
// sockets, the log and every request, and compares the delivery log with the requests that the shops
// received.

import { auditStore } from "../support/auditor.ts";
import { checkForm } from "../support/callback-form.ts";
import { BrokenPromise, type Progress, type Proof } from "../support/proof.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { watchStalls } from "../support/stalls.ts";
import { ATTACKS } from "./attacks.ts";
import { BRAND, type HostileSetup, openHostileSetup } from "./hostile-setup.ts";
import { measureHeld, watchResident } from "./memory.ts";
import { type RoundResult, runRound, type Victim } from "./round.ts";

type Print = (line: string) => void;

interface Tally {
	rounds: number;
	attacks: number;
	requests: number;
	neighbourMs: number[];
	/** Growth of the resident memory in bytes. */
	residentGrowth: number;
	/** Growth of the reachable memory in bytes. */
	heldGrowth: number;
	longestBusyMs: number;
}

const MIB = 1_024 * 1_024;
/**
 * Maximum growth of the reachable memory. It allows for compiled code, TLS sessions and queues. One unpacked
 * bomb or one stored flood would exceed it.
 */
const MAX_HELD_GROWTH_BYTES = 16 * MIB;
/** Memory that this proof itself uses in a round for the final comparison. */
const MAX_NOTES_BYTES = 2 * MIB;
/**
 * Maximum growth of the resident memory. It includes the garbage of all parallel attacks, because Node
 * returns little memory to the system.
 */
const MAX_RESIDENT_GROWTH_BYTES = 192 * MIB;
/**
 * Maximum time of a clean stop. It waits for requests in flight, so for one deadline at most. The rest allows
 * for a busy disk.
 */
const STOPPED_WITHIN_MS = 8_000;

export const hostileProof: Proof = {
	name: "hostile",
	summary:
		"Delivers to shops that misbehave in more than a hundred ways, and to a healthy one at the same time.",
	options: {
		rounds: { value: "N", help: "number of attacks by every shop", preset: 1, least: 1 },
		seed: { value: "S", help: "seed of the first round, which decides order and overlaps", preset: 1 },
	},
	run: ({ rounds, seed }, progress) =>
		runHostile({ rounds: rounds ?? 1, seed: seed ?? 1 }, progress, (line) =>
			process.stdout.write(`${line}\n`),
		),
};

/**
 * Runs the proof. `print` gets one line for each attack, which a person wants to read and a test does not.
 */
export async function runHostile(
	{ rounds, seed }: { rounds: number; seed: number },
	progress: Progress,
	print: Print,
): Promise<string> {
	const socketsBefore = countSockets();
	const tally: Tally = {
		rounds: 0,
		attacks: 0,
		neighbourMs: [],
		residentGrowth: 0,
		heldGrowth: 0,
		requests: 0,
		longestBusyMs: 0,
	};
	try {
		await runRounds(rounds, seed, tally, progress, print);
		const left = countSockets() - socketsBefore;
		if (left > 0) throw new Error(`${left} sockets are left`);
	} catch (error) {
		const replay = `npm run hostile -- --rounds 1 --seed ${seed + Math.min(tally.rounds, rounds - 1)}`;
		const message = error instanceof Error ? error.message : String(error);
		// Only the combined message is shown, because the stack traces add nothing.
		throw new BrokenPromise(message, replay, error instanceof AggregateError ? undefined : error);
	}
	return summarise(tally);
}

async function runRounds(
	rounds: number,
	seed: number,
	tally: Tally,
	progress: Progress,
	print: Print,
): Promise<void> {
	progress("the shops open");
	await using cleaning = new AsyncDisposableStack();
	const setup = await openHostileSetup(cleaning);
	const victims = await openVictims(setup);
	const heldBefore = measureHeld();
	while (tally.rounds < rounds) {
		progress(`round ${tally.rounds + 1} of ${rounds}, ${tally.attacks} attacks so far`);
		printRound(await tallyRound(setup, victims, seed + tally.rounds, tally), print);
		tally.heldGrowth = measureHeld() - heldBefore;
		checkMemory(tally);
		if (setup.shops.decoyConnections > 0) throw new Error("somebody came to where redirects lead");
		tally.rounds++;
	}
	tally.requests = await checkRequests(setup);
	await checkStop(setup);
}

async function tallyRound(
	setup: HostileSetup,
	victims: readonly Victim[],
	seed: number,
	tally: Tally,
): Promise<RoundResult> {
	const resident = watchResident();
	try {
		const result = await runRound(setup, victims, createSeededRandom(seed));
		tally.attacks += result.suffered.length;
		tally.neighbourMs.push(...result.neighbourMs);
		tally.longestBusyMs = Math.max(tally.longestBusyMs, result.stalls.longestBusyMs);
		return result;
	} finally {
		tally.residentGrowth = Math.max(tally.residentGrowth, resident.stop());
	}
}

async function openVictims({ openProgramme }: HostileSetup): Promise<Victim[]> {
	const victims: Victim[] = [];
	for (const attack of ATTACKS) {
		victims.push({ attack, programme: await openProgramme(null), sentBytes: 0 });
	}
	return victims;
}

function checkMemory({ residentGrowth, heldGrowth, rounds }: Tally): void {
	const mostHeld = MAX_HELD_GROWTH_BYTES + rounds * MAX_NOTES_BYTES;
	if (heldGrowth > mostHeld) throw new Error(`${mib(heldGrowth)} more are held than before`);
	if (residentGrowth > MAX_RESIDENT_GROWTH_BYTES)
		throw new Error(`${mib(residentGrowth)} more were resident than before`);
}

/** Checks every request of every shop against the contract and against the delivery log. */
async function checkRequests(setup: HostileSetup): Promise<number> {
	const received = setup.gatherReceived();
	for (const callback of received) await checkForm(callback, BRAND);
	await auditStore(setup.service.store.db, received, BRAND);
	const errors = setup.log.lines.filter(({ level }) => level === "error");
	if (errors.length > 0)
		throw new Error(`the service logged: ${errors.map(({ message }) => message).join("; ")}`);
	return received.length;
}

async function checkStop(setup: HostileSetup): Promise<void> {
	const stalls = watchStalls();
	const startedMs = performance.now();
	await setup.stop();
	const tookMs = Math.round(performance.now() - startedMs);
	stalls.stop();
	if (tookMs > STOPPED_WITHIN_MS + stalls.longestMs) throw new Error(`the service took ${tookMs} ms to stop`);
}

function countSockets(): number {
	return process
		.getActiveResourcesInfo()
		.filter((name) => /^(?:TCPSocketWrap|TCPServerWrap|TLSWrap)$/.test(name)).length;
}

function printRound({ suffered }: RoundResult, print: Print): void {
	for (const { name, stored, sentBytes } of suffered) {
		const { attempt, delivery } = stored;
		const what = attempt.http_status ?? attempt.detail ?? attempt.result;
		const tookMs = String(Math.round(attempt.took_ms ?? 0)).padStart(5);
		print(
			`${tookMs} ms  ${(delivery.last_verdict ?? "").padEnd(9)}  ${name}: ${what} (${sentBytes} bytes sent)`,
		);
	}
}

function summarise(tally: Tally): string {
	const sorted = tally.neighbourMs.toSorted((one, other) => one - other);
	const median = Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0);
	const most = Math.round(sorted.at(-1) ?? 0);
	return [
		`${tally.attacks} attacks by ${ATTACKS.length} shops in ${tally.rounds === 1 ? "1 round" : `${tally.rounds} rounds`}`,
		`${tally.requests} requests checked`,
		`${sorted.length} deliveries to the neighbour in ${median} ms (most ${most} ms)`,
		`${mib(tally.heldGrowth)} more held, ${mib(tally.residentGrowth)} more resident at most`,
		`never busy for more than ${Math.round(tally.longestBusyMs)} ms in one piece`,
	].join(", ");
}

function mib(bytes: number): string {
	return `${(bytes / MIB).toFixed(1)} MiB`;
}
