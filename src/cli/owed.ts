// `ringback owed`: what would be sent, by programme. Before callbacks are released that were held, and after a restore.

import { succeed } from "../domain/fault.ts";
import { isoTime, utcSecond } from "../domain/time.ts";
import { showOrderId } from "../domain/visible-text.ts";
import type { Workplace } from "../service/workplace.ts";
import { readPause } from "../store/queries/delivery-pause.ts";
import {
	countEndedWindows,
	listNextOwed,
	listOwed,
	type OwedDelivery,
	type OwedProgramme,
} from "../store/queries/owed.ts";
import type { Db } from "../store/store.ts";
import { workplaceCommand } from "./command.ts";

export const owedCommand = workplaceCommand({
	name: "owed",
	summary: "Lists the callbacks that are still to be sent, by programme, and those that would go first.",
	options: {},
	async work({ store, clock }: Workplace) {
		const owed = await readOwed(store.db, clock.nowMs());
		const pause = await readPause(store.db, clock.nowMs());
		const paused = pause === null ? null : isoTime(pause.sinceMs);
		const json = { pausedSince: paused, ...owedJson(owed) };
		const lines = describeOwed(owed);
		const held =
			paused === null
				? []
				: [`All callbacks have been held since ${paused}: \`ringback release\` sends them.`];
		return succeed({ json, text: [...lines, ...held].join("\n") });
	},
});

export interface Owed {
	/** Over all programmes. */
	waiting: number;
	toCancel: number;
	programmes: readonly OwedProgramme[];
	next: readonly OwedDelivery[];
	/** Recorded conversions whose approval window has ended: a worker approves them, and their callbacks come on top. */
	toApprove: number;
}

/** Of thousands nobody reads more; `--json` has all. */
const PROGRAMMES_SHOWN = 20;
const NEXT_SHOWN = 5;

export async function readOwed(db: Db, nowMs: number): Promise<Owed> {
	const programmes = await listOwed(db);
	return {
		waiting: programmes.reduce((sum, { waiting }) => sum + waiting, 0),
		toCancel: programmes.reduce((sum, { toCancel }) => sum + toCancel, 0),
		programmes,
		next: await listNextOwed(db, NEXT_SHOWN),
		toApprove: await countEndedWindows(db, nowMs),
	};
}

export function owedJson({ waiting, toCancel, toApprove, programmes, next }: Owed): object {
	return {
		waiting,
		toCancel,
		toApprove,
		programmes: programmes.map(({ publicId, oldestAtMs, nextDueAtMs, ...programme }) => ({
			id: publicId,
			...programme,
			oldestAt: isoTime(oldestAtMs),
			nextDueAt: isoTime(nextDueAtMs),
		})),
		next: next.map(({ publicId, dueAtMs, ...delivery }) => ({
			id: publicId,
			...delivery,
			dueAt: isoTime(dueAtMs),
		})),
	};
}

export function describeOwed({ waiting, toCancel, toApprove, programmes, next }: Owed): string[] {
	const owing = programmes.filter((programme) => programme.waiting > 0);
	const left = owing.length - PROGRAMMES_SHOWN;
	return [
		waiting === 0
			? "No callback is owed."
			: `${waiting} ${waiting === 1 ? "callback is" : "callbacks are"} owed to ${owing.length} ${owing.length === 1 ? "programme" : "programmes"}:`,
		...owing.slice(0, PROGRAMMES_SHOWN).map(describeProgramme),
		...(left > 0 ? [`  … and ${left} more programmes (--json has all)`] : []),
		...(next.length > 0 ? ["The first to go:", ...next.map(describeDelivery)] : []),
		...(toCancel > 0
			? [`${toCancel} more are of a removed Postback URL: they are cancelled, and not sent.`]
			: []),
		...(toApprove > 0
			? [
					`${toApprove} recorded ${toApprove === 1 ? "conversion has passed its" : "conversions have passed their"} approval window: the service approves them when it starts, and owes a callback for each that has a Postback URL.`,
				]
			: []),
	];
}

function describeProgramme({ publicId, name, url, waiting, oldestAtMs, nextDueAtMs }: OwedProgramme): string {
	const where = url === null ? "no Postback URL: they wait" : url;
	return `  ${waiting}  ${name} (${publicId}), the oldest of ${utcSecond(oldestAtMs)}, the next due ${utcSecond(nextDueAtMs)}, to ${where}`;
}

function describeDelivery({ programmeName, orderId, event, dueAtMs, attempts }: OwedDelivery): string {
	const tried = attempts === 0 ? "not tried yet" : `${attempts} attempts so far`;
	return `  ${event} of order ${showOrderId(orderId)}, ${programmeName}: due ${utcSecond(dueAtMs)}, ${tried}`;
}
