// Processes come and go under load: a rolling restart, in which each is stopped in good order and started again, and
// kills of some while others start.

import { deepEqual, equal } from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { lookUntil } from "./look-until.ts";
import type { TurnoverKill } from "./plan.ts";
import { noteKilled, type RoundState } from "./round-state.ts";
import type { Engines } from "./setup.ts";

const MEMBERS = 3;

/** A clean stop: with the process its lease is gone, and it has nothing in hand. */
export async function rollOver(round: RoundState, laps: number): Promise<void> {
	const { setup } = round;
	await untilAllRegistered(round);
	for (let stops = 0; stops < laps * MEMBERS; stops++) {
		const member = stops % MEMBERS;
		const before = await setup.readEngines();
		await setup.processes.stop(member);
		const after = await setup.readEngines();
		const stopped = before.ids.filter((id) => !after.ids.includes(id));
		equal(stopped.length, 1, "a clean stop ends the lease of the engine that stopped, and no other");
		deepEqual(after.strayHolders, [], "a clean stop leaves nothing in hand");
		for (const id of stopped) round.movedLanes += before.lanes.get(id) ?? 0;
		await setup.processes.start(member);
		await untilAllRegistered(round);
	}
}

/** One after the other, so that it is known whose lease is whose. */
export async function startOneByOne(round: RoundState): Promise<void> {
	for (let member = 0; member < MEMBERS; member++) {
		await round.setup.processes.start(member);
		await noteEngine(round, member);
	}
}

/** Each is killed while the one before it starts again; what lapses is taken over by those that live, under load. */
export async function turnOver(round: RoundState, kills: readonly TurnoverKill[]): Promise<void> {
	const { processes, untilForgotten, lapse } = round.setup;
	let lapsed = 0;
	let down: number | null = null;
	for (const { victim, pauseMs, lapses } of kills) {
		const starting: Promise<void> = down === null ? Promise.resolve() : processes.start(down);
		await wait(pauseMs);
		await processes.kill([victim]);
		await untilForgotten([victim]);
		await starting;
		if (down !== null && down !== victim) await noteEngine(round, down);
		// Killed on its way, it may have had a lease already.
		const dead = down === victim ? (await newEngines(round))[0] : round.engineOf.get(victim);
		down = victim;
		if (dead === undefined) continue;
		round.engineOf.set(victim, dead);
		round.knownEngines.add(dead);
		await noteKilled(round, dead, lapses);
		if (!lapses) continue;
		await lapse(dead);
		lapsed++;
	}
	if (down !== null) await processes.start(down);
	await untilEngines(round, "are all taken over", ({ lapsedIds }) => lapsedIds.length === 0);
	round.takenOver += lapsed;
}

async function noteEngine(round: RoundState, member: number): Promise<void> {
	let fresh: readonly number[] = [];
	await lookUntil(async () => {
		fresh = await newEngines(round);
		return fresh.length > 0;
	});
	for (const id of fresh) {
		round.engineOf.set(member, id);
		round.knownEngines.add(id);
	}
}

async function newEngines({ setup, knownEngines }: RoundState): Promise<readonly number[]> {
	return (await setup.readEngines()).ids.filter((id) => !knownEngines.has(id));
}

function untilAllRegistered(round: RoundState): Promise<void> {
	return untilEngines(round, "have a lease each", ({ ids }) => ids.length === MEMBERS);
}

function untilEngines({ setup }: RoundState, what: string, is: (engines: Engines) => boolean): Promise<void> {
	let engines: Engines | undefined;
	return lookUntil(
		async () => {
			engines = await setup.readEngines();
			return is(engines);
		},
		() => `in vain until they ${what}: ${JSON.stringify(engines)}`,
	);
}
