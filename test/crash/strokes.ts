// The strokes of fate: a process is killed, PostgreSQL restarts, the disk is full.

import { match } from "node:assert/strict";
import { until } from "../support/until.ts";
import type { Happening, Moment, Stroke } from "./plan.ts";
import { checkReleased, noteHits, type Scene } from "./scene.ts";

/** So many refusals show that it is full; then there is room again. */
const REFUSALS_WHILE_FULL = 3;
/** SQLite's own words for the two ways a disk can be full here. */
const SAYS_FULL = /database or disk is full|disk I\/O error/;

export async function strike(scene: Scene, stroke: Stroke): Promise<void> {
	const { site } = scene;
	switch (stroke.kind) {
		case "kill":
			await site.crew.kill(stroke.victims, stroke.politeMs);
			await site.untilForgotten(stroke.victims);
			return noteHits(scene, true);
		case "stop":
			await site.crew.stopAll();
			return checkReleased(scene, await site.readBooks());
		case "restart":
			await site.restartDatabase(stroke.way);
			return noteHits(scene, false);
		case "fill":
			return fillDisk(scene, stroke.ending);
		default:
			return stroke satisfies never;
	}
}

async function fillDisk(scene: Scene, ending: Extract<Stroke, { kind: "fill" }>["ending"]): Promise<void> {
	const { intake } = scene;
	const { disk, crew } = scene.site;
	if (disk === null) throw new Error("this round has no disk to fill");
	await disk.fill(crew.pids());
	await untilRefused(scene);
	if (!intake.isDone) match(crew.logs(), SAYS_FULL, "the log says why nothing can be stored");
	if (ending !== "room") {
		await crew.kill([0]);
		await noteHits(scene, true);
	}
	if (ending === "killed and started") {
		await crew.startAll();
		if (disk.way === "file size limit") await disk.fill(crew.pids());
		await untilRefused(scene);
	}
	await disk.makeRoom(crew.pids());
}

/**
 * Or until everything is answered: SQLite writes a log that it has copied away anew from the start, and needs no
 * space for that.
 */
function untilRefused({ intake }: Scene): Promise<void> {
	const enough = intake.counts.refused + REFUSALS_WHILE_FULL;
	const describe = () => `the disk is full, and this is how reports went: ${JSON.stringify(intake.counts)}`;
	return until(() => intake.counts.refused >= enough || intake.isDone, describe);
}

export interface AwaitedMoment {
	/** Resolves when it has come. */
	come: Promise<void>;
	/** Something happened. */
	count(happening: Happening): void;
	/** Nothing more will happen: now or never. */
	force(): void;
	/** Nobody waits for it any more. */
	forget(): void;
}

/** Counted from now on. */
export function awaitMoment(moment: Moment): AwaitedMoment {
	const { promise, resolve } = Promise.withResolvers<void>();
	const counted = moment.kind === "start" ? [] : moment.counted;
	let left = moment.kind === "start" ? 0 : moment.count;
	const timer = moment.kind === "start" ? setTimeout(resolve, moment.delayMs) : undefined;
	return {
		come: promise,
		count(happening) {
			if (!counted.includes(happening)) return;
			left--;
			if (left === 0) resolve();
		},
		force: () => resolve(),
		forget: () => clearTimeout(timer),
	};
}
