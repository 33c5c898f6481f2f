// The state of a batch in memory. A request is judged on the state to which the requests before it have led, and the step
// that it leads to is applied at once. The rows that the steps cause are collected in one list for each table, and written
// together at the end. Applying a step is the only way in which a conversion changes.

import { announcedBy, type EventType, nameAsReplaced } from "../domain/conversion.ts";
import type { Credit } from "../domain/credit.ts";
import { composeEvent, type EventSubject } from "../domain/event.ts";
import type { EventName } from "../domain/event-name.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import type { Random } from "../ports.ts";
import {
	AMOUNT_MOVES,
	type BatchRows,
	type NewEntry,
	type NewMove,
	type NewRefund,
	type OwedEvent,
	type ToldEvent,
	type Written,
} from "../store/batch.ts";
import type { EventColumn } from "../store/queries/announced-moves.ts";
import { orderIdOf } from "../store/queries/conversions.ts";
import { creditOf, rowOfCredit } from "../store/queries/credits.ts";
import { type CallbackTarget, NOTHING_OWED, type Owed, type ShopTarget } from "../store/queries/queue.ts";
import type { Conversion } from "../store/tables/conversions.ts";
import { type CreditedMove, partnersOf } from "./credited-move.ts";
import type { Facts, Found } from "./facts.ts";
import { entriesOf } from "./ledger-entries.ts";
import { composeChanged, composeNewConversion, isCorrection, type Step } from "./moves.ts";
import type { OrderRequest } from "./order-request.ts";
import { partnerEventsOf } from "./partner-events.ts";

/** A conversion of the batch, as the requests so far leave it. */
interface ConversionState {
	/** The conversion as it was read, or null if the batch starts it. */
	readonly stored: Conversion | null;
	/** A conversion that the batch starts has a provisional id (see BatchRows). */
	now: Conversion;
	credit: Credit | undefined;
	isCreditChanged: boolean;
	/** The stored refunds and those of the batch, the oldest first. */
	readonly refunds: NewRefund[];
	/** The events that were stored before, and those of the batch. */
	readonly told: Pick<ToldEvent, "receiver_id" | "name">[];
	/** Moves of the batch. */
	readonly moves: NewMove[];
	/** Body that stored moves must keep, because a later move changes what they announced. */
	bodyToKeep: string | null;
}

type OrderOf = Pick<OrderRequest<unknown>, "programmeId" | "orderId" | "eventType" | "conversionId">;

/** The lists that a batch of changes adds to. */
type ChangeRows = Pick<
	BatchRows,
	"changed" | "started" | "keptBodies" | "moves" | "credits" | "refunds" | "entries" | "events"
>;

export class Batch {
	readonly #facts: Facts;
	readonly #lockedIds: ReadonlySet<number>;
	readonly #random: Random;
	readonly #nowMs: number;
	readonly #byId = new Map<number, ConversionState>();
	/** The conversions that have the order ids now, by order and event type. A replaced one is not among them. */
	readonly #orders = new Map<string, Map<EventType, ConversionState>>();
	readonly #started: ConversionState[] = [];
	readonly #moves: NewMove[] = [];
	readonly #refunds: NewRefund[] = [];
	readonly #entries: NewEntry[] = [];
	readonly #events: OwedEvent[] = [];
	/** Targets of the events. */
	readonly #targets = new Map<number, CallbackTarget>();

	constructor({ conversions, lockedIds }: Found, facts: Facts, random: Random, nowMs: number) {
		this.#facts = facts;
		this.#lockedIds = lockedIds;
		this.#random = random;
		this.#nowMs = nowMs;
		for (const stored of conversions) {
			const credit = facts.credits.get(stored.id);
			this.#add({
				stored,
				now: stored,
				credit: credit && creditOf(credit),
				isCreditChanged: false,
				refunds: [...(facts.refunds.get(stored.id) ?? [])],
				told: [...(facts.told.get(stored.id) ?? [])],
				moves: [],
				bodyToKeep: null,
			});
		}
	}

	get nowMs(): number {
		return this.#nowMs;
	}

	/** Returns the conversion that a request is about, or null if there is none. */
	find(request: OrderOf): Pick<ConversionState, "now" | "credit" | "refunds"> | null {
		return this.#find(request) ?? null;
	}

	/** Returns the event types of all conversions that have the order id of the request. */
	namesakesOf(request: OrderOf): EventType[] {
		return [...(this.#orders.get(nameOf(request))?.keys() ?? [])];
	}

	/** Makes the step, and returns the conversion after it. */
	apply(request: OrderOf, step: Step): Conversion {
		const found = this.#find(request);
		const before = "sale" in step ? null : (found?.now ?? null);
		const state = "sale" in step ? this.#start(found, step) : this.#change(found, step);
		const creditBefore = before === null ? undefined : state.credit;
		if (step.credit !== undefined) {
			state.credit = step.credit;
			state.isCreditChanged = true;
		}
		const made: CreditedMove = {
			move: step.move,
			before,
			after: state.now,
			creditBefore,
			creditAfter: state.credit,
			creditedBefore: this.#partnershipOf(creditBefore),
			creditedAfter: this.#partnershipOf(state.credit),
		};
		this.#follow(state, step, made);
		return state.now;
	}

	rows(): ChangeRows {
		const states = [...this.#byId.values()];
		return {
			changed: states.flatMap(({ stored, now }) =>
				stored === null || stored === now ? [] : [{ before: stored, after: now }],
			),
			started: this.#started.map(({ now }) => now),
			keptBodies: states.flatMap(({ now, bodyToKeep }) =>
				bodyToKeep === null ? [] : [{ conversion_id: now.id, body: bodyToKeep }],
			),
			moves: this.#moves,
			credits: states.flatMap(({ now, credit, isCreditChanged }) =>
				credit === undefined || !isCreditChanged
					? []
					: [
							{
								...rowOfCredit(credit),
								conversion_id: now.id,
								programme_id: now.programme_id,
								sold_at_ms: now.occurred_at_ms,
							},
						],
			),
			refunds: this.#refunds,
			entries: this.#entries,
			events: this.#events,
		};
	}

	/** Returns the deliveries that became due. They must be announced to the engines after the commit. */
	owedAfter({ eventIds }: Written, readAtMs: number): Owed {
		if (this.#events.length === 0) return NOTHING_OWED;
		const first = { run: 1, counted: 0, seq: 0 };
		const deliveries = this.#events.map(({ receiver_id, endpoint_epoch, name, body, at_ms }, index) => {
			const id = eventIds[index];
			if (id === undefined) throw new Error("an owed event was not stored");
			const event = { endpointEpoch: endpoint_epoch, eventName: name, eventBody: body };
			return { id, receiverId: receiver_id, dueAtMs: at_ms, ...first, ...event };
		});
		const targets = [...this.#targets.values()];
		return {
			receiverIds: targets.map(({ receiverId }) => receiverId),
			dueAtMs: this.#nowMs,
			ready: { deliveries, targets, readAtMs },
		};
	}

	#find(request: OrderOf): ConversionState | undefined {
		return request.conversionId === undefined
			? this.#orders.get(nameOf(request))?.get(request.eventType)
			: this.#byId.get(request.conversionId);
	}

	#add(state: ConversionState): ConversionState {
		const { id, programme_id: programmeId, order_id: orderId, event_type } = state.now;
		this.#byId.set(id, state);
		const name = nameOf({ programmeId, orderId });
		const namesakes = this.#orders.get(name) ?? new Map<EventType, ConversionState>();
		this.#orders.set(name, namesakes.set(event_type, state));
		return state;
	}

	/** Starts a conversion. An earlier one of the order gets another order id. */
	#start(earlier: ConversionState | undefined, step: Extract<Step, { sale: unknown }>): ConversionState {
		if (earlier !== undefined) {
			this.#demandLock(earlier);
			const { order_id: orderId, public_id: publicId } = earlier.now;
			earlier.now = { ...earlier.now, order_id: nameAsReplaced({ orderId, publicId }) };
		}
		const id = -(this.#started.length + 1);
		const now = { ...composeNewConversion(step, this.#nowMs), id };
		const state = {
			credit: undefined,
			isCreditChanged: false,
			refunds: [],
			told: [],
			moves: [],
			bodyToKeep: null,
		};
		const started = this.#add({ ...state, stored: null, now });
		this.#started.push(started);
		return started;
	}

	#change(state: ConversionState | undefined, step: Exclude<Step, { sale: unknown }>): ConversionState {
		if (state === undefined) throw new Error(`there is no conversion to ${step.move}`);
		this.#demandLock(state);
		const before = state.now;
		const after = composeChanged(before, step, this.#nowMs);
		if (isCorrection(step, before, after)) this.#keepBody(state);
		state.now = after;
		return state;
	}

	/** Keeps what was announced of a conversion, before a correction changes it. Moves that have a body keep theirs. */
	#keepBody(state: ConversionState): void {
		const body = composeEvent(subjectOf(state.now, this.#shopOf(state.now).publicId));
		if (state.stored !== null) state.bodyToKeep ??= body;
		for (const move of state.moves) if (AMOUNT_MOVES.includes(move.move)) move.announced_body ??= body;
	}

	/** Adds the rows that follow from a step. */
	#follow(state: ConversionState, step: Step, made: CreditedMove): void {
		const { after } = made;
		const { personId = null, reason = null, refund } = step;
		const move: NewMove = {
			programme_id: after.programme_id,
			conversion_id: after.id,
			move: step.move,
			to_status: after.status,
			decided_by: step.decidedBy ?? null,
			person_id: personId,
			reason,
			at_ms: this.#nowMs,
			...partnersOf(made),
		};
		state.moves.push(move);
		this.#moves.push(move);
		if (refund !== undefined) {
			const { programme_id, id: conversion_id, updated_at_ms: at_ms } = after;
			const row = { ...refund, programme_id, conversion_id, person_id: personId, at_ms };
			state.refunds.push(row);
			this.#refunds.push(row);
		}
		this.#entries.push(...entriesOf(made, { personId, reason, nowMs: this.#nowMs }));
		const name = announcedBy(step.move);
		const shop = this.#shopOf(after);
		if (name !== null) this.#owe(state, shop, name, () => composeEvent(subjectOf(after, shop.publicId)));
		for (const event of partnerEventsOf(made, { told: state.told, linkCodes: this.#facts.linkCodes }))
			this.#owe(state, event.target, event.name, () => event.body);
	}

	/**
	 * Adds an event. If the receiver has no URL or no signing secret now, the event is never sent (contract section 1, rules
	 * 4 and 5).
	 */
	#owe(state: ConversionState, target: CallbackTarget, name: EventName, compose: () => string): void {
		const { receiverId: receiver_id, endpointEpoch: endpoint_epoch, endpointId, secretId } = target;
		if (endpointId === null || secretId === null) return;
		const public_id = makeId("dlv", this.#nowMs, this.#random.bytes(ID_RANDOM_BYTES));
		const event = { conversion_id: state.now.id, receiver_id, endpoint_epoch, public_id, name };
		this.#events.push({ ...event, body: compose(), at_ms: this.#nowMs });
		state.told.push({ receiver_id, name });
		this.#targets.set(receiver_id, target);
	}

	#demandLock({ stored }: ConversionState): void {
		if (stored !== null && !this.#lockedIds.has(stored.id))
			throw new Error("a conversion changes without a lock");
	}

	#shopOf({ programme_id }: Conversion): ShopTarget {
		const shop = this.#facts.shops.get(programme_id);
		if (shop === undefined) throw new Error("the shop of a conversion was not read");
		return shop;
	}

	#partnershipOf(credit: Credit | undefined) {
		const id = credit?.partnershipId ?? null;
		if (id === null) return undefined;
		const partnership = this.#facts.partnerships.find(id);
		if (partnership === undefined) throw new Error("a credited partnership was not read");
		return partnership;
	}
}

function nameOf({ programmeId, orderId }: Pick<OrderOf, "programmeId" | "orderId">): string {
	return `${programmeId} ${orderId}`;
}

export function subjectOf(
	conversion: Pick<Conversion, EventColumn | "status" | "reason">,
	programId: string,
): EventSubject {
	return {
		conversionId: conversion.public_id,
		orderId: orderIdOf(conversion),
		programId,
		status: conversion.status,
		eventType: conversion.event_type,
		basketValue: conversion.basket_value,
		commission: conversion.commission,
		networkFee: conversion.network_fee,
		currency: conversion.currency,
		reason: conversion.reason,
		test: conversion.test === 1,
		occurredAtMs: conversion.occurred_at_ms,
	};
}
