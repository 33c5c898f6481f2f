// Requests about orders, one or many in one transaction. Each is judged on its conversion as it is now, what follows is
// written together, and where somebody else was faster the order is read and judged again.
//
// Several requests about one order go in rounds, in the order in which they came: the n-th about it is judged on what
// the one before left. So the outcomes are those of one request after the other (only the sentence about an
// unknown order may differ), and a round takes the same number of statements however many orders are in it.

import type { EventType } from "../domain/conversion.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import type { HotWrites } from "../store/hot-writes.ts";
import type { Conversion } from "../store/queries/conversions.ts";
import {
	type KnownPartnerships,
	type OpenedClicks,
	readPartnerships,
	type Signals,
	type StoredCredit,
} from "../store/queries/credits.ts";
import { NOTHING_OWED, type Owed } from "../store/queries/queue.ts";
import type { Db } from "../store/store.ts";
import type { InTransaction } from "./deps.ts";
import { makeMoves, type Step } from "./make-moves.ts";
import { addOwed } from "./owe.ts";

export interface OrderRequest<Done> {
	programmeId: number;
	orderId: string;
	eventType: EventType;
	/** As it was read before; null where it is taken for new until that proves wrong. Undefined: it has to be read. */
	present: Conversion | null | undefined;
	/** What it may be credited by, asked and read for all requests at once; left out where that cannot be. */
	findSignals?(): Signals | undefined;
	judge(present: Conversion | null, about: About): Judgement<Done>;
}

export interface About {
	/** The event types that the order was found with, when it was read. */
	namesakes: readonly EventType[];
	partnerships: KnownPartnerships;
	/** The report's clicks, opened; empty if it has none, or if its coupon code decides. */
	clicks: OpenedClicks;
	/** What the conversion is credited by, for a request with signals; undefined where it has none. */
	credit: StoredCredit | undefined;
}

export type Judgement<Done> =
	| { kind: "answer"; result: Result<Done> }
	| { kind: "move"; step: Step; done(conversion: Conversion): Done };

export interface Judged<Done> {
	/** In the order of the requests. */
	results: readonly Result<Done>[];
	/** To be told to the engines after the commit. */
	owed: Owed;
}

/** Each look meets what somebody else did since the one before; an order does not change more often at one moment. */
const MAX_LOOKS = 5;

/** At most MAX_STEPS requests. */
export async function judgeAndMove<Done>(
	trx: Db,
	deps: InTransaction,
	requests: readonly OrderRequest<Done>[],
): Promise<Judged<Done>> {
	const { writes } = deps.store;
	const orders = new KnownOrders(writes);
	const signals = new Map(requests.map((request) => [request, request.findSignals?.()]));
	const partnerships = await readPartnerships(
		trx,
		writes,
		[...signals.values()].flatMap((found) => found ?? []),
	);
	const results = new Map<OrderRequest<Done>, Result<Done>>();
	let owed = NOTHING_OWED;
	for (const round of roundsOf(requests)) {
		let open = round;
		for (let look = 0; look < MAX_LOOKS && open.length > 0; look++) {
			await orders.read(
				trx,
				open.filter((request) => look > 0 || orders.presentOf(request) === undefined),
			);
			// If one request has signals, every conversion of the round is locked, in the order in which they are changed.
			const credits = await writes.lockCredits(
				trx,
				open.some((request) => signals.get(request) !== undefined)
					? open.flatMap((request) => orders.presentOf(request)?.id ?? [])
					: [],
			);
			const moving = new Map<OrderRequest<Done>, Extract<Judgement<Done>, { kind: "move" }>>();
			for (const request of open) {
				const present = orders.presentOf(request) ?? null;
				const ofRequest = signals.get(request);
				const judged = request.judge(present, {
					namesakes: orders.namesakesOf(request),
					partnerships,
					clicks: partnerships.clicksOf(ofRequest),
					credit: ofRequest && credits.get(present?.id ?? 0),
				});
				if (judged.kind === "answer") results.set(request, judged.result);
				else moving.set(request, judged);
			}
			const made = await makeMoves(
				trx,
				deps,
				[...moving.values()].map(({ step }) => step),
			);
			owed = addOwed(owed, made.owed);
			for (const [index, [request, { done }]] of [...moving].entries()) {
				const conversion = made.conversions[index];
				if (conversion === undefined) continue;
				orders.note(request, conversion);
				results.set(request, succeed(done(conversion)));
			}
			open = open.filter((request) => !results.has(request));
		}
	}
	return { results: requests.map((request) => results.get(request) ?? refuseBusy()), owed };
}

export function refuseBusy(): ReturnType<typeof refuse> {
	return refuse("unavailable", "This order is being changed by others right now. Try again in a moment.");
}

/** In a round no two are about the same order. */
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

/** What this transaction has read or written of its orders. */
class KnownOrders {
	readonly #writes: HotWrites;
	/** Null for one that there is not. */
	readonly #conversions = new Map<string, Conversion | null>();
	readonly #namesakes = new Map<string, EventType[]>();

	constructor(writes: HotWrites) {
		this.#writes = writes;
	}

	presentOf(request: OrderRequest<unknown>): Conversion | null | undefined {
		const known = this.#conversions.get(nameOf(request));
		return known === undefined ? request.present : known;
	}

	namesakesOf({ programmeId, orderId }: OrderOf): readonly EventType[] {
		return this.#namesakes.get(`${programmeId} ${orderId}`) ?? [];
	}

	note(order: OrderOf, conversion: Conversion): void {
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
