// Handles requests about orders, one or many in one transaction. Each is judged on the current state of its conversion,
// and the resulting moves are written together. If another process changed an order meanwhile, that order is read and
// judged again.
//
// Several requests about one order are handled in rounds, in the order in which they came. Round n judges them on the
// state after round n-1, so the outcomes are those of one request after the other. (Only the sentence about an unknown
// order may differ.) A round takes the same number of statements however many orders are in it.

import type { EventType } from "../domain/conversion.ts";
import type { Credit } from "../domain/credit.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import type { RatesOnRecord } from "../domain/rate-history.ts";
import { includesRefunds, type KnownRefund } from "../domain/refund.ts";
import type { HotWrites, NewRefund } from "../store/hot-writes.ts";
import type { Conversion } from "../store/queries/conversions.ts";
import {
	creditOf,
	type KnownPartnerships,
	type OpenedClicks,
	readPartnerships,
	type Signals,
} from "../store/queries/credits.ts";
import { NOTHING_OWED, type Owed } from "../store/queries/queue.ts";
import { readRatesOnRecord, type WantedRates } from "../store/queries/rates-on-record.ts";
import type { Db } from "../store/store.ts";
import type { InTransaction } from "./deps.ts";
import { makeMoves, type RefundStep, type Step } from "./make-moves.ts";
import { addOwed } from "./owe.ts";

export interface OrderRequest<Done> {
	programmeId: number;
	orderId: string;
	eventType: EventType;
	/**
	 * The order's conversion as it was read before. Null means that the order is treated as new until the insert fails, and
	 * undefined that it must be read first.
	 */
	present: Conversion | null | undefined;
	/**
	 * Returns the click IDs and the coupon code that may credit a partner. The function is omitted for requests
	 * that cannot credit anybody.
	 */
	findSignals?(): Signals | undefined;
	/**
	 * Returns the change of the partner that the request leads to, if it does. It depends on the rates of the past, which
	 * are then read before the request is judged.
	 */
	findCreditChange?(present: Conversion, about: CreditFacts): WantedRates | undefined;
	/** True for a refund, which depends on the earlier refunds of the conversion. */
	needsRefunds?: true | undefined;
	judge(present: Conversion | null, about: About): Judgement<Done>;
}

export interface About extends CreditFacts {
	/** Event types of all conversions with this order id. Empty if the order was not read. */
	namesakes: readonly EventType[];
	/** Rates over time, if `findCreditChange` has returned a change. */
	record: RatesOnRecord | undefined;
	/** Earlier refunds of the conversion. Empty if the request does not need them. */
	refunds: readonly NewRefund[];
}

/** Facts on which the credit of a report depends. */
export interface CreditFacts {
	partnerships: KnownPartnerships;
	/** Decrypted clicks of the report. Empty if it has no click, or if its coupon code takes precedence. */
	clicks: OpenedClicks;
	/**
	 * The stored credit of the conversion, or undefined if it has none or the request has neither a click ID nor a coupon
	 * code.
	 */
	credit: Credit | undefined;
}

export type Judgement<Done> =
	| { kind: "answer"; result: Result<Done> }
	| { kind: "move"; step: Step; done(conversion: Conversion): Done };

export interface Judged<Done> {
	/** Results in the order of the requests. */
	results: readonly Result<Done>[];
	/** Deliveries that became due, to be announced to the engines after the commit. */
	owed: Owed;
}

/**
 * Maximum number of turns of a round. The first turn may handle only the new orders of the round. An order that another
 * process changed meanwhile is judged again in the next turn.
 */
const MAX_TURNS = 6;

/** Judges requests about orders and writes the resulting moves. Takes at most MAX_STEPS requests. */
export async function judgeAndMove<Done>(
	trx: Db,
	deps: InTransaction,
	requests: readonly OrderRequest<Done>[],
): Promise<Judged<Done>> {
	const orders = new KnownOrders(deps.store.writes);
	const signals = new Map(requests.map((request) => [request, request.findSignals?.()]));
	const partnerships = await readPartnerships(
		trx,
		deps.store.writes,
		[...signals.values()].flatMap((found) => found ?? []),
	);
	const results = new Map<OrderRequest<Done>, Result<Done>>();
	const judging: Judging<Done> = { trx, deps, orders, signals, partnerships, results };
	const rounds = roundsOf(requests);
	let owed = NOTHING_OWED;
	for (const [index, round] of rounds.entries()) {
		// The first round contains every order. If more rounds follow, it also locks the conversions that they may
		// change, so that all locks are taken in one order.
		const isLocking =
			(index === 0 && rounds.length > 1) ||
			round.some((request) => request.needsRefunds === true || signals.get(request) !== undefined);
		let open = round;
		let unread = open.filter((request) => orders.presentOf(request) === undefined);
		for (let turn = 0; turn < MAX_TURNS && open.length > 0; turn++) {
			await orders.read(trx, unread);
			// New orders come first, so that every transaction takes its locks in the same order: new orders in the order of the
			// unique index, and then existing conversions in the order of their ids. Otherwise this transaction could wait for
			// an order that another one has just inserted, while that one waits for a conversion that is locked here.
			const isNew = (request: OrderRequest<Done>) => orders.presentOf(request) === null;
			const present = isLocking && open.some(isNew) ? open.filter(isNew) : open;
			owed = addOwed(owed, await judgeTogether(judging, present, isLocking));
			unread = present.filter((request) => !results.has(request));
			open = open.filter((request) => !results.has(request));
		}
	}
	return { results: requests.map((request) => results.get(request) ?? refuseBusy()), owed };
}

interface Judging<Done> {
	trx: Db;
	deps: InTransaction;
	orders: KnownOrders;
	signals: ReadonlyMap<OrderRequest<Done>, Signals | undefined>;
	partnerships: KnownPartnerships;
	/** Results so far. */
	results: Map<OrderRequest<Done>, Result<Done>>;
}

/**
 * Judges requests about different orders, and adds their results. A request has no result if another process has
 * changed its order meanwhile. With `isLocking`, the conversions of all requests are locked first.
 */
async function judgeTogether<Done>(
	{ trx, deps, orders, signals, partnerships, results }: Judging<Done>,
	requests: readonly OrderRequest<Done>[],
	isLocking: boolean,
): Promise<Owed> {
	const { writes } = deps.store;
	const idsOf = (some: readonly OrderRequest<Done>[]) =>
		some.flatMap((request) => orders.presentOf(request)?.id ?? []);
	const credits = await writes.lockCredits(trx, isLocking ? idsOf(requests) : []);
	// This must be a later statement than the one that waits for the locks. Only then does PostgreSQL see the refunds
	// that others stored while it waited.
	const refunding = requests.filter(({ needsRefunds }) => needsRefunds === true);
	const refundsById = Map.groupBy(
		await writes.findRefunds(trx, idsOf(refunding)),
		({ conversion_id }) => conversion_id,
	);
	const factsOf = (request: OrderRequest<Done>): CreditFacts => {
		const ofRequest = signals.get(request);
		const stored = ofRequest && credits.get(orders.presentOf(request)?.id ?? 0);
		return { partnerships, clicks: partnerships.clicksOf(ofRequest), credit: stored && creditOf(stored) };
	};
	const changes = requests.flatMap((request) => {
		const present = orders.presentOf(request) ?? null;
		const wanted = present && request.findCreditChange?.(present, factsOf(request));
		return wanted ? [[request, wanted] as const] : [];
	});
	const read = await readRatesOnRecord(
		trx,
		changes.map(([, wanted]) => wanted),
	);
	const recordOf = new Map(changes.map(([request], index) => [request, read[index]]));
	const moves = new Map<OrderRequest<Done>, Extract<Judgement<Done>, { kind: "move" }>>();
	for (const request of requests) {
		const present = orders.presentOf(request) ?? null;
		const refunds = refundsById.get(present?.id ?? 0) ?? [];
		// The conversion was read before the lock, so another process may have refunded a part of it. It is read again.
		if (present !== null && request.needsRefunds === true && !hasRefunds(present, refunds)) continue;
		const judged = request.judge(present, {
			...factsOf(request),
			namesakes: orders.namesakesOf(request),
			record: recordOf.get(request),
			refunds,
		});
		if (judged.kind === "answer") results.set(request, judged.result);
		else moves.set(request, judged);
	}
	const written = await makeMoves(
		trx,
		deps,
		[...moves.values()].map(({ step }) => step),
	);
	for (const [index, [request, { done }]] of [...moves].entries()) {
		const conversion = written.conversions[index];
		if (conversion === undefined) continue;
		orders.set(request, conversion);
		results.set(request, succeed(done(conversion)));
	}
	return written.owed;
}

/** Returns whether the conversion was read after all these refunds were stored. */
function hasRefunds({ status, refunded_value }: Conversion, refunds: readonly NewRefund[]): boolean {
	return includesRefunds({ status, refundedValue: refunded_value }, refunds.map(knownRefundOf));
}

export function knownRefundOf({ refund_id, amount, basket_value }: RefundStep): KnownRefund {
	return { refundId: refund_id, amount, basketValue: basket_value };
}

export function refuseBusy(): ReturnType<typeof refuse> {
	return refuse("unavailable", "This order is being changed by others right now. Try again in a moment.");
}

/** Divides requests into rounds, so that no two requests of a round are about the same order. */
function roundsOf<Done>(requests: readonly OrderRequest<Done>[]): OrderRequest<Done>[][] {
	const rounds: OrderRequest<Done>[][] = [];
	const counts = new Map<string, number>();
	for (const request of requests) {
		const name = nameOf(request);
		const before = counts.get(name) ?? 0;
		counts.set(name, before + 1);
		const round = rounds[before] ?? [];
		round.push(request);
		rounds[before] = round;
	}
	return rounds;
}

type OrderOf = Pick<OrderRequest<unknown>, "programmeId" | "orderId" | "eventType">;

/** The orders that this transaction has read or written. */
class KnownOrders {
	readonly #writes: HotWrites;
	/** Conversions by order. Null if the order has no conversion. */
	readonly #conversions = new Map<string, Conversion | null>();
	readonly #namesakes = new Map<string, EventType[]>();

	constructor(writes: HotWrites) {
		this.#writes = writes;
	}

	presentOf(request: OrderRequest<unknown>): Conversion | null | undefined {
		const conversion = this.#conversions.get(nameOf(request));
		return conversion === undefined ? request.present : conversion;
	}

	namesakesOf({ programmeId, orderId }: OrderOf): readonly EventType[] {
		return this.#namesakes.get(`${programmeId} ${orderId}`) ?? [];
	}

	set(order: OrderOf, conversion: Conversion): void {
		this.#conversions.set(nameOf(order), conversion);
	}

	async read(trx: Db, orders: readonly OrderOf[]): Promise<void> {
		for (const order of orders) this.#conversions.set(nameOf(order), null);
		const named = orders.map((order) => ({ programme_id: order.programmeId, order_id: order.orderId }));
		const found = await this.#writes.findByOrders(trx, named);
		for (const [name, namesakes] of Map.groupBy(found, (row) => `${row.programme_id} ${row.order_id}`)) {
			this.#namesakes.set(
				name,
				namesakes.map((row) => row.event_type),
			);
		}
		const wanted = new Set(orders.map(nameOf));
		for (const row of found) {
			const { programme_id: programmeId, order_id: orderId, event_type: eventType } = row;
			const name = nameOf({ programmeId, orderId, eventType });
			if (wanted.has(name)) this.#conversions.set(name, row);
		}
	}
}

function nameOf({ programmeId, orderId, eventType }: OrderOf): string {
	return `${programmeId} ${eventType} ${orderId}`;
}
