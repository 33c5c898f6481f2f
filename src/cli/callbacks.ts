// Commands for callbacks. `ringback hold` and `ringback release` stop and resume all sending, even before the
// service starts. `ringback owed` lists what would be sent, by programme. `ringback resend failed` sends
// failed callbacks again.

import { refuse, succeed } from "#core/domain/fault.ts";
import { isoTime, SECOND_MS, utcSecond } from "#core/domain/time.ts";
import { showOrderId } from "#core/domain/visible-text.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { changeHold } from "#core/programmes/callback-hold.ts";
import { unknownProgramme } from "#core/programmes/programmes.ts";
import { isKnownOwner } from "#core/programmes/receivers.ts";
import { resendFailed } from "#core/programmes/resend.ts";
import { type FailedReceiver, listFailedReceivers } from "#core/store/queries/deliveries.ts";
import { readPause } from "#core/store/queries/delivery-pause.ts";
import {
	countEndedWindows,
	listNextOwed,
	listOwed,
	type OwedDelivery,
	type OwedReceiver,
} from "#core/store/queries/owed.ts";
import type { Db } from "#core/store/store.ts";
import { readWrittenTime } from "#modules/jobs/use-cases/written-time.ts";
import type { Workplace } from "../service/workplace.ts";
import { type Command, workplaceCommand } from "./command.ts";

const SUMMARIES = {
	held: "Holds all callbacks, in every process within a second, until `ringback release`. Conversions and decisions are still accepted.",
	released: "Releases all callbacks that are held: what is due is sent at once, the rest when it falls due.",
} as const;

export const HOLD_COMMANDS: readonly Command[] = (["held", "released"] as const).map((to) =>
	workplaceCommand({
		name: to === "held" ? "hold" : "release",
		summary: SUMMARIES[to],
		options: {},
		async work(workplace) {
			const changed = await changeHold(workplace, COMMAND_LINE, to);
			if (!changed.ok) return changed;
			if (changed.value === null)
				return succeed({
					json: { changed: false },
					text: `Callbacks were ${to} already. Nothing was changed.`,
				});
			const { sinceMs, waiting, due } = changed.value;
			const said = {
				held: `All callbacks are held from now on: ${waiting === 1 ? "1 waits" : `${waiting} wait`}. \`ringback owed\` lists them, \`ringback release\` sends them.`,
				released: `Callbacks are sent again: ${countCallbacks(due)} due now, and ${waiting - due} later.`,
			};
			const json = { changed: true, heldSince: isoTime(sinceMs), waiting, due };
			return succeed({ json, text: said[to] });
		},
	}),
);

export const owedCommand = workplaceCommand({
	name: "owed",
	summary:
		"Lists the callbacks that are still to be sent, by programme or partner, and those that are sent next.",
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
	waiting: number;
	toCancel: number;
	programmes: readonly OwedReceiver[];
	next: readonly OwedDelivery[];
	/**
	 * Number of recorded conversions whose approval window has ended. A worker will approve them, which adds
	 * more callbacks.
	 */
	toApprove: number;
}

/** Maximum number of receivers that are printed. With `--json` all of them are printed. */
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
			: `${countCallbacks(waiting)} owed to ${owing.length} ${owing.length === 1 ? "receiver" : "receivers"}:`,
		...owing.slice(0, PROGRAMMES_SHOWN).map(describeOwing),
		...(left > 0 ? [`  … and ${left} more receivers (--json has all)`] : []),
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

function describeOwing({ publicId, name, url, waiting, oldestAtMs, nextDueAtMs }: OwedReceiver): string {
	const where = url === null ? "no Postback URL: they wait" : url;
	return `  ${waiting}  ${name} (${publicId}), the oldest of ${utcSecond(oldestAtMs)}, the next due ${utcSecond(nextDueAtMs)}, to ${where}`;
}

function describeDelivery({ receiverName, orderId, event, dueAtMs, attempts }: OwedDelivery): string {
	const tried = attempts === 0 ? "not tried yet" : `${attempts} attempts so far`;
	const order = orderId === null ? " (test)" : ` of order ${showOrderId(orderId)}`;
	return `  ${event}${order}, ${receiverName}: due ${utcSecond(dueAtMs)}, ${tried}`;
}

const PROGRESS_EVERY_MS = 2 * SECOND_MS;

export const resendCommand = workplaceCommand({
	name: "resend failed",
	summary:
		"Resends callbacks that failed within a period, in all programmes and for all partners with a URL. Shows what would be sent, and sends it with --yes. Callbacks that are pending or were set aside are not sent again.",
	options: {
		from: { type: "string", value: "TIME", help: 'such as "2026-03-01 12:00", UTC', isRequired: true },
		to: { type: "string", value: "TIME", help: "now, if left out" },
		programme: { type: "string", value: "ID", help: "only of this programme or partner, prg_… or ptn_…" },
		yes: { type: "boolean", help: "send them; otherwise only what would be sent is shown" },
	},
	async work(workplace, options, screen) {
		const { store, clock } = workplace;
		const fromMs = readWrittenTime(options.text("from"));
		const untilMs = options.text("to") === "" ? clock.nowMs() : readWrittenTime(options.text("to"));
		if (fromMs === null || untilMs === null)
			return refuse("invalid_field", '--from and --to take a time such as "2026-03-01 12:00".');
		if (untilMs <= fromMs) return refuse("invalid_field", "--to must be a later time than --from.");
		const span = { fromMs, untilMs };
		const programme = options.text("programme") || undefined;
		if (programme !== undefined && !(await isKnownOwner(store.db, programme)))
			return unknownProgramme(programme);
		const found = await listFailedReceivers(store.db, span, programme);
		const count = found.reduce((sum, { failed }) => sum + failed, 0);
		const isAsked = options.flag("yes");
		let toldAtMs = clock.nowMs();
		const order = { receivers: isAsked ? found : [], actor: COMMAND_LINE };
		const sent = await resendFailed(workplace, order, span, (resent) => {
			if (clock.nowMs() - toldAtMs >= PROGRESS_EVERY_MS) {
				toldAtMs = clock.nowMs();
				screen.error(`${resent} of ${count} callbacks are sent again`);
			}
			return true;
		});
		if (!sent.ok) return sent;
		const resent = sent.value.count;
		const end = isAsked
			? `${countCallbacks(resent)} being sent again.`
			: "Nothing was sent yet: run it again with --yes.";
		return succeed({
			json: { applied: isAsked, failed: count, resent, programmes: found.map(programmeJson) },
			text: [
				count === 0
					? "No callback failed then."
					: `${count} ${count === 1 ? "callback" : "callbacks"} of ${found.length} ${found.length === 1 ? "receiver" : "receivers"} failed then.`,
				...found.map(describeFailed),
				...(count === 0 ? [] : [end]),
			].join("\n"),
		});
	},
});

function countCallbacks(count: number): string {
	return count === 1 ? "1 callback is" : `${count} callbacks are`;
}

function programmeJson({ publicId, name, failed, oldestAtMs, newestAtMs }: FailedReceiver): object {
	return { id: publicId, name, failed, oldestAt: isoTime(oldestAtMs), newestAt: isoTime(newestAtMs) };
}

function describeFailed({ name, publicId, failed, oldestAtMs, newestAtMs }: FailedReceiver): string {
	return `  ${failed}  ${name} (${publicId}), from ${utcSecond(oldestAtMs)} to ${utcSecond(newestAtMs)}`;
}
