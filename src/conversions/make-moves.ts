// The one way a conversion changes its status, or its partner. A use case judges what should happen and hands it over here
// as steps, one or many: the rows are written unless somebody changed them since they were read, each gets its line of
// history, and what the domain's table announces is owed. All of it in the caller's transaction, in a fixed number of
// statements however many steps there are, so that a status change and its event are stored together or not at all.

import {
	announcedBy,
	type DecidedBy,
	type DecidedStatus,
	type LivedMove,
	moveRule,
	nameAsReplaced,
	type Reason,
	type Status,
} from "../domain/conversion.ts";
import type { Credit, Rates } from "../domain/credit.ts";
import { composeEvent } from "../domain/event.ts";
import { shareOf } from "../domain/money.ts";
import type { Change, HotWrites } from "../store/hot-writes.ts";
import type { Conversion, NewConversion } from "../store/queries/conversions.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Owed } from "../store/queries/queue.ts";
import type { Db } from "../store/store.ts";
import { BATCH_ROWS, type InTransaction } from "./deps.ts";
import { oweEvents, subjectOf } from "./owe.ts";

/**
 * Both databases limit the parameters of a statement: a batch of the widest rows stays far below. A batch of the intake
 * may have a bulk call of BATCH_ROWS beside its single ones.
 */
export const MAX_STEPS = 2 * BATCH_ROWS;

/** What a step leaves to this file: the status follows from the move, the times are now. */
type Derived = "status" | "created_at_ms" | "updated_at_ms";

/** What a sale has none of at its start, unless the step says so. */
const NOT_YET = {
	reason: null,
	pixel_basket_value: null,
	confirmed_at_ms: null,
	decided_by: null,
	window_ends_at_ms: null,
	imported_decision_at_ms: null,
};
type Sale = Omit<NewConversion, Derived | keyof typeof NOT_YET> &
	Partial<Pick<NewConversion, keyof typeof NOT_YET>>;

export type Step = {
	/** For the history. */
	decidedBy?: DecidedBy;
	personId?: number | null;
	reason?: Reason | null;
	/** Who brought it; left out where the programme credits nobody, or the shop's server has not spoken yet. */
	credit?: Credit | undefined;
} & (FirstReport | NextMove | Correction | ImportedHistory);

interface FirstReport {
	move: LivedMove;
	known: null;
	/** The order's conversion so far, which keeps its life and gives its name away. */
	replaced?: Conversion | null;
	sale: Sale;
}

/** Decided in other software: the status is what the file says. */
interface ImportedHistory {
	move: "import";
	known: null;
	replaced?: null;
	sale: Sale & { status: DecidedStatus };
}

interface NextMove {
	move: Exclude<LivedMove, "record" | "park" | Correction["move"]>;
	/** As it was read. */
	known: Conversion;
	change: Partial<Omit<Conversion, Derived | "id" | "public_id">>;
}

/** It may change what was announced, which is then kept with the move that announced it. */
interface Correction extends Omit<NextMove, "move"> {
	move: "confirm" | "credit";
	programId: string;
}

export interface MadeMoves {
	/** In the order of the steps; undefined where somebody else was faster: look again, and judge again. */
	conversions: readonly (Conversion | undefined)[];
	/** To be told to the engines after the commit. */
	owed: Owed;
}

/** No two steps may be about the same conversion or the same order. */
export async function makeMoves(trx: Db, deps: InTransaction, steps: readonly Step[]): Promise<MadeMoves> {
	if (steps.length > MAX_STEPS)
		throw new Error(`${steps.length} steps at once; at most ${MAX_STEPS} are taken`);
	const nowMs = deps.clock.nowMs();
	const { writes } = deps.store;
	const written = new Map([
		...(await writeStarts(trx, writes, steps, nowMs)),
		...(await writeChanges(trx, writes, steps, nowMs)),
	]);
	const made = steps.flatMap((step) => {
		const conversion = written.get(step);
		return conversion === undefined ? [] : [{ step, conversion }];
	});
	// A parked conversion was not announced.
	const announced = made.flatMap(({ step, conversion: { id, status } }) =>
		"programId" in step && step.known.status === status
			? {
					conversion_id: id,
					body: composeEvent("conversion.recorded", subjectOf(step.known, step.programId)),
				}
			: [],
	);
	await writes.keepAnnouncedBodies(trx, announced);
	await writes.insertMoves(
		trx,
		made.map(({ step, conversion }) => ({
			programme_id: conversion.programme_id,
			conversion_id: conversion.id,
			move: step.move,
			to_status: conversion.status,
			decided_by: step.decidedBy ?? null,
			person_id: step.personId ?? null,
			reason: step.reason ?? null,
			at_ms: nowMs,
		})),
		made.flatMap(({ step: { credit }, conversion }) =>
			credit === undefined
				? []
				: [
						{
							...credit,
							conversion_id: conversion.id,
							programme_id: conversion.programme_id,
							sold_at_ms: conversion.occurred_at_ms,
						},
					],
		),
	);
	const announcements = made.flatMap(({ step, conversion }) => {
		const event = announcedBy(step.move);
		return event === null ? [] : [{ event, conversion }];
	});
	const owed = await oweEvents(trx, deps, announcements);
	return { conversions: steps.map((step) => written.get(step)), owed };
}

/**
 * The amounts follow the partner, from the basket on record: `rates` is null where the partner stays, and they are those
 * of the recording.
 */
export function creditStep(
	{ public_id }: Pick<Programme, "public_id">,
	known: Conversion,
	credit: Credit,
	rates: Rates | null,
): Correction & { credit: Credit } {
	return {
		move: "credit",
		known,
		programId: public_id,
		change:
			rates === null
				? {}
				: {
						commission: shareOf(known.basket_value, rates.commission_rate),
						network_fee: shareOf(known.basket_value, rates.fee_rate),
					},
		credit,
	};
}

/** First reports, also of an order whose conversion so far makes way. */
async function writeStarts(
	trx: Db,
	writes: HotWrites,
	steps: readonly Step[],
	nowMs: number,
): Promise<Map<Step, Conversion>> {
	const replaced = steps.flatMap((step) => (step.known === null && step.replaced ? [step.replaced] : []));
	const renamed = await writes.renameUnlessChanged(
		trx,
		replaced.map((known) => ({ ...known, order_id: nameAsReplaced(known) })),
	);
	const rows = new Map<Step, NewConversion>();
	for (const step of steps) {
		if (step.known !== null || (step.replaced && !renamed.has(step.replaced.id))) continue;
		const times = { status: statusAfter(step), created_at_ms: nowMs, updated_at_ms: nowMs };
		rows.set(step, { ...NOT_YET, ...step.sale, ...times });
	}
	// In the order of the unique index, so that two processes do not wait for each other's orders.
	const stored = await writes.insertConversions(trx, [...rows.values()].sort(byOrder));
	const byPublicId = new Map(stored.map((conversion) => [conversion.public_id, conversion]));
	return new Map(
		[...rows].flatMap(([step, { public_id }]) => {
			const conversion = byPublicId.get(public_id);
			return conversion === undefined ? [] : [[step, conversion] as const];
		}),
	);
}

function byOrder(a: NewConversion, b: NewConversion): number {
	if (a.programme_id !== b.programme_id) return a.programme_id - b.programme_id;
	const [first, second] = [a, b].map(({ order_id, event_type }) => `${order_id}\n${event_type}`);
	return (first ?? "") < (second ?? "") ? -1 : 1;
}

async function writeChanges(
	trx: Db,
	writes: HotWrites,
	steps: readonly Step[],
	nowMs: number,
): Promise<Map<Step, Conversion>> {
	const changes = new Map<Step, Change>();
	for (const step of steps) {
		if (step.known === null) continue;
		const { known: before, change, move } = step;
		// Whoever made such a step has not judged it.
		if (!moveRule(move).from.includes(before.status)) throw new Error(`${before.status} cannot ${move}`);
		const after = { ...before, ...change, status: moveRule(step.move).to, updated_at_ms: nowMs };
		changes.set(step, { before, after });
	}
	// In the order of the ids, in which the store locks them: two processes do not wait for each other's rows.
	const ordered = [...changes.values()].sort((a, b) => a.before.id - b.before.id);
	const changed = await writes.updateUnlessChanged(trx, ordered);
	return new Map(
		[...changes].flatMap(([step, { after }]) => (changed.has(after.id) ? [[step, after] as const] : [])),
	);
}

function statusAfter(step: Step): Status {
	return step.move === "import" ? step.sale.status : moveRule(step.move).to;
}
