// The crashes of a round. Processes are killed, stopped and started, PostgreSQL restarts, or the disk is
// full.

import { match } from "node:assert/strict";
import { until } from "../support/until.ts";
import type { Crash, Happening, Moment } from "./plan.ts";
import { checkReleased, noteKill, type RoundState } from "./round-state.ts";
import { rollOver, turnOver } from "./turnover.ts";

/** Number of refusals that prove that the disk is full. After them, the disk is emptied. */
const REFUSALS_WHILE_FULL = 3;
/** SQLite's messages for the two ways in which these tests fill a disk. */
const SAYS_FULL = /database or disk is full|disk I\/O error/;

export async function causeCrash(round: RoundState, crash: Crash): Promise<void> {
	const { setup } = round;
	switch (crash.kind) {
		case "kill":
			await setup.processes.kill(crash.victims, crash.politeMs);
			await setup.untilForgotten(crash.victims);
			return void (await noteKill(round, crash.victims));
		case "stop":
			await setup.processes.stopAll();
			return checkReleased(round, await setup.readLedger());
		case "restart":
			return setup.restartDatabase(crash.way);
		case "fill":
			return fillDisk(round, crash.ending);
		case "roll":
			return rollOver(round, crash.laps, crash.victim);
		case "turnover":
			return turnOver(round, crash.steps);
		default:
			return crash satisfies never;
	}
}

async function fillDisk(
	round: RoundState,
	ending: Extract<Crash, { kind: "fill" }>["ending"],
): Promise<void> {
	const { intake } = round;
	const { disk, processes } = round.setup;
	if (disk === null) throw new Error("this round has no disk to fill");
	await disk.fill(processes.pids());
	await untilRefused(round);
	if (!intake.isDone) match(processes.logs(), SAYS_FULL, "the log says why nothing can be stored");
	if (ending !== "room") {
		await processes.kill([0]);
		await noteKill(round, [0]);
	}
	if (ending === "killed and started") {
		await processes.start(0);
		if (disk.way === "file size limit") await disk.fill(processes.pids());
		await untilRefused(round);
	}
	await disk.makeRoom(processes.pids());
}

/**
 * Waits for refusals, or until everything is answered. There may be no refusals, because SQLite can overwrite
 * a log that it has already copied, which needs no space.
 */
function untilRefused({ intake }: RoundState): Promise<void> {
	const enough = intake.counts.refused + REFUSALS_WHILE_FULL;
	const describe = () => `the disk is full, and this is how reports went: ${JSON.stringify(intake.counts)}`;
	return until(() => intake.counts.refused >= enough || intake.isDone, describe);
}

export type AwaitedMoment = ReturnType<typeof awaitMoment>;

/** Waits for the moment of a crash. Events count from this call on. */
export function awaitMoment(moment: Moment) {
	const { promise, resolve } = Promise.withResolvers<void>();
	const counted = moment.kind === "start" ? [] : moment.counted;
	let left = moment.kind === "start" ? 0 : moment.count;
	const timer = moment.kind === "start" ? setTimeout(resolve, moment.delayMs) : undefined;
	return {
		/** Resolves when the moment has come. */
		come: promise,
		/** Counts one event. */
		count(happening: Happening) {
			if (!counted.includes(happening)) return;
			left--;
			if (left === 0) resolve();
		},
		/** Resolves the wait, because nothing more will happen. */
		force: () => resolve(),
		/** Cancels the wait. */
		forget: () => clearTimeout(timer),
	};
}
