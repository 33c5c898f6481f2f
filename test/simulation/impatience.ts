// Simulates people who press "Send now" instead of waiting for the next attempt. They press it once, twice at
// the same moment, shortly before the attempt is due, or on an outdated page after the attempt was made. The
// real use case runs in one of the processes.

import { COMMAND_LINE } from "#core/people/actor.ts";
import { type SeenDelivery, sendAllWaiting, sendSeen } from "#core/programmes/resend.ts";
import { demand } from "../support/broken.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import type { ProgrammeRecord } from "./programme-record.ts";
import type { ServiceProcess } from "./service-process.ts";
import { answerOrNothing } from "./workload.ts";

/** A request of a person to send an attempt early. */
export interface Hurry {
	/** Number of the last attempt that the person saw on the page. */
	seq: number;
	/** True time at which the request was made. */
	fromMs: number;
	/** True time at which the request was answered. */
	toMs: number;
	/** Time of the clock of the process that received the request. */
	clockMs: number;
	/**
	 * True if it is certain that the attempt was brought forward. False if no answer came, or if the request
	 * was for many deliveries.
	 */
	isSure: boolean;
}

export interface WaitingDelivery extends SeenDelivery {
	id: number;
	dueAtMs: number;
}

export interface ImpatienceSite {
	random: SeededRandom;
	programmes: readonly ProgrammeRecord[];
	nowMs(): number;
	at(atMs: number, run: () => void): void;
	pickProcess(): ServiceProcess | undefined;
	listWaiting(programme: ProgrammeRecord): readonly WaitingDelivery[];
	trace(line: string): void;
	supervise(work: Promise<void>): void;
}

export type Impatience = ReturnType<typeof createImpatience>;

const ALL_SHARE = 0.1;
const TWICE_SHARE = 0.4;
/**
 * Time that is longer than the difference between two clocks plus the duration of a request. At this time before the
 * due time, an engine may already have taken the delivery.
 */
const SHORTLY_MS = 6_000;

export function createImpatience(site: ImpatienceSite) {
	const { random } = site;
	const hurried = new Map<number, Hurry[]>();

	function press(): void {
		const programme = random.pick(site.programmes);
		const waiting = site.listWaiting(programme);
		if (waiting.length === 0) return;
		if (random.chance(ALL_SHARE)) {
			site.supervise(pressForAll(programme, waiting));
			return;
		}
		const one = random.pick(waiting);
		const together = random.chance(TWICE_SHARE) ? 2 : 1;
		const run = (): void => {
			for (let n = 0; n < together; n++) site.supervise(pressFor(programme, one));
		};
		const when = random.pick(["now", "now", "shortly before", "after"] as const);
		const awayMs = random.between(0, SHORTLY_MS);
		if (when === "now") run();
		else site.at(when === "after" ? one.dueAtMs + awayMs : one.dueAtMs - awayMs, run);
	}

	async function pressFor(programme: ProgrammeRecord, waiting: WaitingDelivery): Promise<void> {
		const { id, publicId, seq } = waiting;
		const process = site.pickProcess();
		if (process === undefined) return;
		const asked = { seq, fromMs: site.nowMs(), clockMs: process.clock.nowMs() };
		const result = await answerOrNothing(() =>
			sendSeen(process, { receiver: programme, actor: COMMAND_LINE }, [waiting]),
		);
		const isSure = result?.ok === true && result.value.sentNow === 1;
		if (isSure || result === null) note(id, { ...asked, toMs: site.nowMs(), isSure });
		site.trace(`send now ${publicId} after ${seq}: ${JSON.stringify(result)}`);
	}

	async function pressForAll(programme: ProgrammeRecord, waiting: readonly WaitingDelivery[]): Promise<void> {
		const process = site.pickProcess();
		if (process === undefined) return;
		const asked = { fromMs: site.nowMs(), clockMs: process.clock.nowMs() };
		const result = await answerOrNothing(() =>
			sendAllWaiting(process, { receiver: programme, actor: COMMAND_LINE }),
		);
		// Deliveries in flight at this moment are included, because they may fail and be pending again before the request
		// reaches them.
		for (const { id, seq } of waiting) {
			for (const last of [seq, seq + 1]) note(id, { ...asked, seq: last, toMs: site.nowMs(), isSure: false });
		}
		const sent = result?.ok === true ? result.value.count : 0;
		demand(
			sent <= waiting.length,
			"nothing unexpected happens",
			() => `${sent} of ${waiting.length} were sent now`,
		);
		site.trace(`send all of ${programme.id} now: ${JSON.stringify(result)}`);
	}

	function note(id: number, hurry: Hurry): void {
		hurried.set(id, [...(hurried.get(id) ?? []), hurry]);
	}

	return {
		press,
		/** All requests of people for early attempts, by delivery. */
		hurried,
	};
}
