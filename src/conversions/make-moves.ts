// The only code that changes the status of a stored conversion, or its partner. (Most new sales of the intake on
// PostgreSQL are inserted by one statement instead, see new-sales.ts.) A use case decides what should happen and passes
// it here as steps, one or many. A row is written only if nobody has changed it since it was read. Each change adds a
// move to the history and, if the domain names an event for this move, stores the event to be sent. All of it happens
// in the caller's transaction, so a status change and its event are stored together or not at all. The number of
// statements does not depend on the number of steps.

import { NO_SUB_IDS, type SubIds } from "../domain/click-token.ts";
import {
	announcedBy,
	type DecidedBy,
	type ImportedStatus,
	isDecision,
	type LivedMove,
	moveRule,
	nameAsReplaced,
	type Reason,
	statusAfter,
} from "../domain/conversion.ts";
import type { Credit } from "../domain/credit.ts";
import { composeEvent } from "../domain/event.ts";
import { entriesFor, type Owing } from "../domain/ledger.ts";
import { REASSIGNED } from "../domain/partner-event.ts";
import type { Change, HotWrites, NewEntry, NewMove, NewRefund } from "../store/hot-writes.ts";
import type { Conversion, NewConversion } from "../store/queries/conversions.ts";
import { rowOfCredit } from "../store/queries/credits.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Owed } from "../store/queries/queue.ts";
import type { Db } from "../store/store.ts";
import { EMPTY_AT_START } from "../store/tables/conversions.ts";
import { BATCH_ROWS, type InTransaction } from "./deps.ts";
import type { PricedCredit } from "./later-credit.ts";
import { oweEvents, subjectOf } from "./owe.ts";
import { findPartnerNews, readFormerPartners } from "./owe-partners.ts";

/**
 * Maximum number of steps in one call. Both databases limit the number of parameters of a statement, and this many rows
 * stay far below the limit. A batch of calls may hold a bulk call of BATCH_ROWS and as many single ones
 * (api/intake.ts).
 */
export const MAX_STEPS = 2 * BATCH_ROWS;

/** Columns that this file fills in. The status follows from the move, and both times are the present time. */
type Derived = "status" | "created_at_ms" | "updated_at_ms";

type Sale = Omit<NewConversion, Derived | keyof typeof EMPTY_AT_START> &
	Partial<Pick<NewConversion, keyof typeof EMPTY_AT_START>>;

export type Step = {
	/** The side that decided, or the approval window. It is stored in the history. */
	decidedBy?: DecidedBy;
	personId?: number | null;
	reason?: Reason | null;
	/**
	 * Credit of the conversion. Undefined if the programme credits nobody, or if the shop's server has not reported the
	 * sale yet.
	 */
	credit?: Credit | undefined;
	/** The refund that the step stores. The conversion's change must already contain the amounts that are left. */
	refund?: RefundStep | undefined;
} & (FirstReport | NextMove | Correction | ImportedStart);

export type RefundStep = Pick<NewRefund, "refund_id" | "amount" | "basket_value" | "reason">;

/** A step that starts a conversion with the first report of its order. */
export interface FirstReport {
	move: LivedMove;
	known: null;
	/** The earlier conversion of the same order. It keeps its history, but its order id goes to the new conversion. */
	replaced?: Conversion | null;
	sale: Sale;
}

/** A step that starts a conversion that comes from other software. Its status is the one that it had there. */
interface ImportedStart {
	move: "import";
	known: null;
	replaced?: null;
	sale: Sale & { status: ImportedStatus };
}

interface NextMove {
	move: Exclude<LivedMove, "record" | "park" | Correction["move"]>;
	/** The conversion as it was read. */
	known: Conversion;
	change: Partial<Omit<Conversion, Derived | "id" | "public_id">>;
}

/**
 * A move that may change fields that were already sent in an event. The body of that event is then saved with
 * the earlier move that caused it.
 */
interface Correction extends Omit<NextMove, "move"> {
	move: "confirm" | "credit" | "refund";
	programId: string;
}

export interface MadeMoves {
	/**
	 * Stored conversions in the order of the steps. An entry is undefined if another process changed the order first. Its
	 * request must then be judged again.
	 */
	conversions: readonly (Conversion | undefined)[];
	/** Deliveries that became due, to be announced to the engines after the commit. */
	owed: Owed;
}

/** Writes the steps. No two of them may be about the same conversion or the same order. */
export async function makeMoves(trx: Db, deps: InTransaction, steps: readonly Step[]): Promise<MadeMoves> {
	if (steps.length > MAX_STEPS) throw new Error(`${steps.length} steps at once; the maximum is ${MAX_STEPS}`);
	const nowMs = deps.clock.nowMs();
	const { writes } = deps.store;
	// Every transaction locks new orders before existing conversions, so that two of them cannot deadlock.
	const written = new Map([
		...(await writeStarts(trx, writes, steps.filter(isNewOrder), nowMs)),
		...(await writeReplacements(trx, writes, steps, nowMs)),
		...(await writeChanges(trx, writes, steps, nowMs)),
	]);
	const moves = steps.flatMap((step) => {
		const conversion = written.get(step);
		return conversion === undefined ? [] : [{ step, conversion }];
	});
	// A correction changes fields of an event that was already announced, so the announced body is stored. If
	// the correction also changes the status, it confirms a parked conversion. No event was announced for that
	// one.
	const announced = moves.flatMap(({ step, conversion: { id, status } }) =>
		"programId" in step && step.known.status === status
			? {
					conversion_id: id,
					body: composeEvent(subjectOf(step.known, step.programId)),
				}
			: [],
	);
	await writes.keepAnnouncedBodies(trx, announced);
	// The partners are read before the credits are replaced.
	const partners = await findPartners(trx, writes, moves);
	const entries = entriesOf(moves, partners, nowMs);
	const creditedMoves = moves.map(({ step, conversion }) => ({
		move: step.move,
		before: step.known,
		conversion,
		credit: step.credit,
	}));
	const former = await readFormerPartners(trx, deps, creditedMoves);
	await writes.insertMoves(
		trx,
		moves.map(({ step, conversion }) => ({
			programme_id: conversion.programme_id,
			conversion_id: conversion.id,
			move: step.move,
			to_status: conversion.status,
			decided_by: step.decidedBy ?? null,
			person_id: step.personId ?? null,
			reason: step.reason ?? null,
			at_ms: nowMs,
			...partnersOf(step, partners.get(conversion.id)),
		})),
		moves.flatMap(({ step: { credit }, conversion }) =>
			credit === undefined
				? []
				: [
						{
							...rowOfCredit(credit),
							conversion_id: conversion.id,
							programme_id: conversion.programme_id,
							sold_at_ms: conversion.occurred_at_ms,
						},
					],
		),
	);
	await writes.insertRefunds(trx, refundsOf(moves));
	await writes.insertEntries(trx, entries);
	const announcements = moves.flatMap(({ step, conversion }) => {
		const event = announcedBy(step.move);
		return event === null ? [] : [{ event, conversion }];
	});
	const partnerNews = await findPartnerNews(trx, deps, creditedMoves, former);
	const owed = await oweEvents(trx, deps, announcements, partnerNews, nowMs);
	return { conversions: steps.map((step) => written.get(step)), owed };
}

/** Returns the step that changes a credit. If the partner stays, `priced` is null, and the amounts stay, too. */
export function creditStep(
	{ public_id }: Pick<Programme, "public_id">,
	known: Conversion,
	credit: Credit,
	priced: PricedCredit | null,
): Correction & { credit: Credit } {
	return { move: "credit", known, programId: public_id, change: priced ?? {}, credit };
}

const NO_PARTNERS: CreditedPartners = {
	before: null,
	after: null,
	subIdsBefore: NO_SUB_IDS,
	subIdsAfter: NO_SUB_IDS,
};

interface Made {
	step: Step;
	conversion: Conversion;
}

/** Partners to whom a conversion is credited before and after a move. Null stands for nobody. */
interface CreditedPartners {
	before: number | null;
	after: number | null;
	/** Sub IDs of the credit before and after the move. */
	subIdsBefore: SubIds;
	subIdsAfter: SubIds;
}

/**
 * Returns the partners of conversions, by conversion id. Only moves that write entries or change a credit need them. A
 * new sale is not approved and replaces no credit, so it costs no query.
 */
async function findPartners(
	trx: Db,
	writes: HotWrites,
	moves: readonly Made[],
): Promise<ReadonlyMap<number, CreditedPartners>> {
	const needing = moves.filter((made) => isOwing(made) || made.step.move === "credit");
	if (needing.length === 0) return new Map();
	const credited = await writes.findCreditedPartners(
		trx,
		needing.map(({ conversion }) => conversion.id),
	);
	const creditsBefore = new Map(credited.map((row) => [row.conversion_id, row]));
	const newIds = needing.flatMap(({ step }) => step.credit?.partnershipId ?? []);
	const newPartners = new Map(
		(await writes.findPartnerships(trx, newIds)).map(({ id, partner_id }) => [id, partner_id]),
	);
	return new Map(
		needing.map(({ step: { credit }, conversion: { id } }) => {
			const stored = creditsBefore.get(id);
			const before = stored?.partner_id ?? null;
			const after = credit === undefined ? before : (newPartners.get(credit.partnershipId ?? 0) ?? null);
			const subIdsBefore: SubIds =
				stored === undefined ? NO_SUB_IDS : [stored.sub_1, stored.sub_2, stored.sub_3];
			return [id, { before, after, subIdsBefore, subIdsAfter: credit?.subIds ?? subIdsBefore }];
		}),
	);
}

/** Returns whether the conversion is or was approved. Only then is it owed to anybody. */
function isOwing({ step, conversion }: Made): boolean {
	return conversion.test === 0 && (conversion.status === "APPROVED" || step.known?.status === "APPROVED");
}

/**
 * Returns the columns of a move that name the partner who loses the conversion, with the commission that is lost, and the
 * partner who gets it.
 */
function partnersOf(
	{ known }: Step,
	partners: CreditedPartners | undefined,
): Pick<NewMove, "lost_partner_id" | "lost_commission" | "gained_partner_id"> {
	if (known === null || partners === undefined || partners.after === partners.before) return {};
	const lost =
		partners.before === null ? {} : { lost_partner_id: partners.before, lost_commission: known.commission };
	return { ...lost, gained_partner_id: partners.after };
}

/** Returns the entries in the accounts of partners that the moves cause. */
function entriesOf(
	moves: readonly Made[],
	partners: ReadonlyMap<number, CreditedPartners>,
	nowMs: number,
): NewEntry[] {
	return moves.filter(isOwing).flatMap(({ step, conversion }) => {
		const { before, after, subIdsBefore, subIdsAfter } = partners.get(conversion.id) ?? NO_PARTNERS;
		const owedBefore = step.known === null ? null : owingOf(step.known, before);
		return entriesFor(owedBefore, owingOf(conversion, after)).map(({ partnerId, kind, amount }) => ({
			...columnsOfSubIds(partnerId === before ? subIdsBefore : subIdsAfter),
			decided_at_ms: conversion.decided_at_ms,
			partner_id: partnerId,
			programme_id: conversion.programme_id,
			conversion_id: conversion.id,
			kind,
			amount,
			currency: conversion.currency,
			person_id: step.personId ?? null,
			// Both partners read their entries, so the reason that staff gave is in the audit log only.
			reason: step.move === "credit" ? REASSIGNED : (step.reason ?? null),
			at_ms: nowMs,
		}));
	});
}

function columnsOfSubIds([sub1, sub2, sub3]: SubIds): Pick<NewEntry, "sub_1" | "sub_2" | "sub_3"> {
	return { sub_1: sub1 || null, sub_2: sub2 || null, sub_3: sub3 || null };
}

function owingOf({ status, commission, test }: Conversion, partnerId: number | null): Owing {
	return { status, commission, isTest: test === 1, partnerId };
}

function refundsOf(moves: readonly Made[]): NewRefund[] {
	return moves.flatMap(({ step: { refund, personId = null }, conversion }) =>
		refund === undefined
			? []
			: [
					{
						...refund,
						programme_id: conversion.programme_id,
						conversion_id: conversion.id,
						person_id: personId,
						at_ms: conversion.updated_at_ms,
					},
				],
	);
}

/** A step that starts a conversion. */
type Start = Step & (FirstReport | ImportedStart);

function isNewOrder(step: Step): step is Start {
	return step.known === null && !step.replaced;
}

/**
 * Renames the conversions that first reports replace, and inserts the new ones. All conversions that the steps change
 * are locked at once, in the order of their ids.
 */
async function writeReplacements(
	trx: Db,
	writes: HotWrites,
	steps: readonly Step[],
	nowMs: number,
): Promise<Map<Step, Conversion>> {
	const replacing = steps.filter((step): step is Start => step.known === null && Boolean(step.replaced));
	if (replacing.length === 0) return new Map();
	const replaced = replacing.flatMap((step) => step.replaced ?? []);
	const changed = steps.flatMap(({ known }) => known ?? []);
	await writes.lockCredits(
		trx,
		[...replaced, ...changed].map(({ id }) => id),
	);
	const renamed = await writes.renameUnlessChanged(
		trx,
		replaced.map((known) => ({
			...known,
			order_id: nameAsReplaced({ orderId: known.order_id, publicId: known.public_id }),
		})),
	);
	const starts = replacing.filter(({ replaced }) => replaced && renamed.has(replaced.id));
	return writeStarts(trx, writes, starts, nowMs);
}

/** Inserts conversions of first reports. */
async function writeStarts(
	trx: Db,
	writes: HotWrites,
	steps: readonly Start[],
	nowMs: number,
): Promise<Map<Step, Conversion>> {
	const rows = new Map<Step, NewConversion>(steps.map((step) => [step, composeNewConversion(step, nowMs)]));
	// Rows are inserted in the order of the unique index, so that two processes cannot deadlock on each other's orders.
	const stored = await writes.insertConversions(trx, [...rows.values()].sort(byOrder));
	const byPublicId = new Map(stored.map((conversion) => [conversion.public_id, conversion]));
	return new Map(
		[...rows].flatMap(([step, { public_id }]) => {
			const conversion = byPublicId.get(public_id);
			return conversion === undefined ? [] : [[step, conversion] as const];
		}),
	);
}

/** Returns the row with which a conversion starts. */
export function composeNewConversion(step: FirstReport | ImportedStart, nowMs: number): NewConversion {
	const status = step.move === "import" ? step.sale.status : statusAfter(step.move, null);
	return { ...EMPTY_AT_START, ...step.sale, status, created_at_ms: nowMs, updated_at_ms: nowMs };
}

/** Returns the conversion as the step leaves it. */
export function composeChanged(
	{ known: before, change, move }: NextMove | Correction,
	nowMs: number,
): Conversion {
	// The caller must have checked the transition. Reaching this line is a programming error.
	if (!moveRule(move).from.includes(before.status)) throw new Error(`${before.status} cannot ${move}`);
	return {
		...before,
		...change,
		...(isDecision(move) ? { decided_at_ms: nowMs } : {}),
		status: statusAfter(move, before.status),
		// A changed conversion must be later than its recording, also if the clock was set back.
		updated_at_ms: Math.max(nowMs, before.created_at_ms + 1),
	};
}

/** Compares two conversions by the columns of the unique index conversions_by_order. */
export function byOrder(a: NewConversion, b: NewConversion): number {
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
		if (step.known !== null) changes.set(step, { before: step.known, after: composeChanged(step, nowMs) });
	}
	// Rows are updated in the order of their ids, in which the store locks them, so that two processes cannot deadlock.
	const ordered = [...changes.values()].sort((a, b) => a.before.id - b.before.id);
	const changed = await writes.updateUnlessChanged(trx, ordered);
	return new Map(
		[...changes].flatMap(([step, { after }]) => (changed.has(after.id) ? [[step, after] as const] : [])),
	);
}
