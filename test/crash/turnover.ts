// Processes start and stop under load. In a rolling restart, each is stopped cleanly and started again. In a
// turnover, some are killed or stopped cleanly while others start.

import { deepEqual, equal, ok } from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { ENGINE_MESSAGES } from "#core/callbacks/engine.ts";
import { lookUntil } from "./look-until.ts";
import type { TurnoverStep } from "./plan.ts";
import { noteKill, type RoundState } from "./round-state.ts";
import type { Engines } from "./setup.ts";

/**
 * Maximum time in a rolling restart, both from an answer until its callback reaches the shop, and between two
 * callbacks. With five times the load on two cores, 4.3 s and 1.5 s were measured at most. A slot that is not
 * released would wait for 15 s.
 */
const MAX_WAIT_MS = 10_000;

/**
 * Starts the services one after the other, so that each engine can be matched to its service. Services that
 * were killed in the meantime are skipped.
 */
export async function startOneByOne(round: RoundState): Promise<void> {
	const { processes } = round.setup;
	const down = round.plan.roles.map((_, member) => member).filter((member) => !processes.isUp(member));
	// Services that were killed in an earlier phase are started again. Services that are killed from now on are
	// not.
	const doomed = new Set(down.filter((member) => processes.isDoomed(member)));
	for (const member of down) {
		if (processes.isDoomed(member) && !doomed.has(member)) continue;
		// The last service finds the statements when the load begins.
		if (member === down.at(-1) && down.length > 1) await round.setup.releaseStatements();
		await startMember(round, member);
	}
}

async function startMember(round: RoundState, member: number): Promise<void> {
	const { processes, readEngines } = round.setup;
	await processes.start(member);
	if (!processes.delivers(member)) return;
	await lookUntil(async () => {
		const id = (await readEngines()).ids.find((each) => !round.knownEngines.has(each));
		// This service is killed, and the code that records the kill finds its engine.
		if (processes.isDoomed(member)) return true;
		if (id === undefined) return false;
		round.engineOf.set(member, id);
		round.knownEngines.add(id);
		return true;
	});
}

/**
 * Stops one service cleanly. Its engine must then be gone, and its slots must be free or have another owner.
 */
async function stopMember(round: RoundState, member: number): Promise<void> {
	const { processes, readEngines } = round.setup;
	const id = round.engineOf.get(member);
	round.engineOf.delete(member);
	const before = await readEngines();
	await processes.stop(member);
	const after = await readEngines();
	const left = before.ids.filter((each) => !after.ids.includes(each) && !round.killedEngines.has(each));
	deepEqual(left, id === undefined ? [] : [id], "a clean stop ends the engine that stopped, and no other");
	for (const stopped of left) {
		equal(after.slots.get(stopped) ?? 0, 0, "a clean stop gives all slots up");
		round.movedSlots += before.slots.get(stopped) ?? 0;
	}
}

/**
 * Kills one service. If `lapses` is true, its engine counts as silent at once, and the other engines take
 * over under load.
 */
async function killMember(round: RoundState, member: number, lapses: boolean): Promise<void> {
	const { processes, untilForgotten, lapse } = round.setup;
	await processes.kill([member]);
	await untilForgotten([member]);
	for (const id of await noteKill(round, [member])) {
		if (!lapses) continue;
		await lapse(id);
		round.silentEngines.delete(id);
		round.takenOver++;
	}
}

/**
 * Restarts each service in turn, several times, which no shop may notice. At the end, one service is killed.
 */
export async function rollOver(round: RoundState, laps: number, victim: number): Promise<void> {
	const members = round.plan.roles.length;
	for (let stops = 0; stops < laps * members; stops++) {
		const member = stops % members;
		await stopMember(round, member);
		await startMember(round, member);
		const { ids } = await round.setup.readEngines();
		equal(ids.length, members, "each service has its engine");
	}
	checkSteady(round);
	await killMember(round, victim, true);
	await startMember(round, victim);
	await untilTakenOver(round);
}

/**
 * Throws unless every call was answered, no callback waited for a silent engine, and no shop got more
 * concurrent requests than its limit.
 */
function checkSteady({ plan, shop, waits, setup, intake }: RoundState): void {
	const { processes, balancer } = setup;
	const { cap, roles } = plan;
	deepEqual(balancer?.broken, [], "behind a balancer that asks who is ready every call is answered");
	deepEqual([intake.counts.refused, intake.counts.broken], [0, 0], "no shop notices a rolling restart");
	const served = balancer?.forwarded.size ?? 0;
	ok(served > roles.length, `only ${served} services had calls: of those that were restarted none`);
	equal(processes.countLogged(ENGINE_MESSAGES.silent), 0, "an engine that stops releases its slots");
	ok(cap === null || shop.mostAtOnce <= cap, `a shop had ${shop.mostAtOnce} requests at a time`);
	ok(waits.longestMs <= MAX_WAIT_MS, `a callback came ${Math.round(waits.longestMs)} ms after its answer`);
	ok(waits.longestGapMs <= MAX_WAIT_MS, `no callback came for ${Math.round(waits.longestGapMs)} ms`);
}

/** Stops or kills each service while the previous one starts again. */
export async function turnOver(round: RoundState, steps: readonly TurnoverStep[]): Promise<void> {
	const { processes } = round.setup;
	let down: number | null = null;
	for (const { victim, pauseMs, way } of steps) {
		const starting: Promise<void> = down === null ? Promise.resolve() : startMember(round, down);
		await wait(pauseMs);
		// A process that has just been started cannot be asked to stop yet.
		if (way === "stop" && victim === down) await starting;
		if (way === "stop") await stopMember(round, victim);
		else await killMember(round, victim, way === "kill and lapse");
		await starting;
		down = victim;
	}
	if (down !== null && !processes.isUp(down)) await startMember(round, down);
	await untilTakenOver(round);
}

function untilTakenOver({ setup }: RoundState): Promise<void> {
	let engines: Engines | undefined;
	return lookUntil(
		async () => {
			engines = await setup.readEngines();
			return engines.lapsedIds.length === 0;
		},
		() => `in vain until all are taken over: ${JSON.stringify(engines)}`,
	);
}
