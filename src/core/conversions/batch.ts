// State of a batch in memory. Each request is judged on the state that the previous requests left, and its step is
// applied at once. The rows that the steps cause are collected in one list per table and written together at the end.
// A conversion changes only when a step is applied here.

import { announcedBy, EVENT_TYPES, type EventType, nameAsReplaced } from "../domain/conversion.ts";
import { composeEvent, type EventSubject } from "../domain/event.ts";
import type { EventName } from "../domain/event-name.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import type { Random } from "../ports.ts";
import { AMOUNT_MOVES, type BatchRows, type NewMove, type OwedEvent, type Written } from "../store/batch.ts";
import type { AddedRows, ModuleRow, ModuleTable } from "../store/module-parts.ts";
import type { EventColumn } from "../store/queries/announced-moves.ts";
import { orderIdOf } from "../store/queries/conversions.ts";
import { type CallbackTarget, NOTHING_OWED, type Owed, type ShopTarget } from "../store/queries/queue.ts";
import type { Conversion } from "../store/tables/conversions.ts";
import type { ChangeModule, Followed } from "./change-module.ts";
import type { Facts } from "./facts.ts";
import type { ConversionFacts } from "./module-facts.ts";
import { composeChanged, composeNewConversion, isCorrection, type Step } from "./moves.ts";
import type { OrderRequest } from "./order-request.ts";

interface ConversionState {
	/** Conversion as it was read from the database, or null if the batch starts it. */
	readonly stored: Conversion | null;
	/**
	 * Conversion after the requests judged so far. If the batch starts the conversion, its id is provisional (see
	 * BatchRows).
	 */
	now: Conversion;
	/** What the modules know of the conversion. */
	known: ConversionFacts;
	readonly moves: NewMove[];
	/**
	 * Event body that the conversion's stored moves must keep, because a later move of the batch changes the fields
	 * that they announced. Null if none must be kept.
	 */
	bodyToKeep: string | null;
}

type OrderOf = Pick<OrderRequest<unknown>, "programmeId" | "orderId" | "eventType" | "conversionId">;

type ChangeRows = Pick<BatchRows, "changed" | "started" | "keptBodies" | "moves" | "ofModules" | "events">;

export class Batch {
	readonly #modules: readonly ChangeModule[];
	readonly #facts: Facts;
	readonly #random: Random;
	readonly #byId = new Map<number, ConversionState>();
	/**
	 * Conversions by their present order ids. A replaced conversion is not included, because its order id has gone to
	 * another conversion.
	 */
	readonly #byOrder = new Map<string, ConversionState>();
	readonly #started: ConversionState[] = [];
	readonly #moves: NewMove[] = [];
	/**
	 * Rows of modules by table and conversion. If a conversion gets several rows in the same table, the last one is
	 * written.
	 */
	readonly #ofModules: ReadonlyMap<ModuleTable, Map<number, ModuleRow>>;
	readonly #events: OwedEvent[] = [];
	readonly #targets = new Map<number, CallbackTarget>();

	constructor(modules: readonly ChangeModule[], facts: Facts, random: Random) {
		this.#modules = modules;
		this.#facts = facts;
		this.#random = random;
		const tables = modules.flatMap((module) => module.tables ?? []);
		this.#ofModules = new Map(tables.map((table) => [table, new Map()]));
		for (const stored of facts.conversions)
			this.#add({ stored, now: stored, known: facts.factsOf(stored), moves: [], bodyToKeep: null });
	}

	/**
	 * Returns the conversion that a request is about, or null if the conversion does not exist, with what the modules
	 * know of it.
	 */
	find(request: OrderOf): { now: Conversion | null; known: ConversionFacts } {
		return this.#find(request) ?? { now: null, known: this.#facts.ofStarted };
	}

	/** Returns the event types of all conversions that have the order id of the request. */
	namesakesOf(request: OrderOf): EventType[] {
		return EVENT_TYPES.filter((eventType) => this.#byOrder.has(nameOf({ ...request, eventType })));
	}

	apply(request: OrderOf, step: Step): Conversion {
		const found = this.#find(request);
		const before = "sale" in step ? null : (found?.now ?? null);
		const state = "sale" in step ? this.#start(found, step) : this.#change(found, step);
		const { now: after } = state;
		const { batch: facts } = this.#facts;
		const row: NewMove = {
			programme_id: after.programme_id,
			conversion_id: after.id,
			move: step.move,
			to_status: after.status,
			decided_by: step.decidedBy ?? null,
			person_id: step.personId ?? null,
			reason: step.reason ?? null,
			at_ms: facts.nowMs,
		};
		state.moves.push(row);
		this.#moves.push(row);
		const name = announcedBy(step.move);
		const shop = this.#shopOf(after);
		if (name !== null) this.#owe(after, shop, name, () => composeEvent(subjectOf(after, shop.publicId)));
		const knownBefore = state.known;
		for (const { follow } of this.#modules) {
			if (follow === undefined) continue;
			const { known } = state;
			const made = { move: step.move, before, after, row, parts: step, knownBefore, known, facts };
			this.#addFollowed(state, row, follow(made));
		}
		return after;
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
			ofModules: [...this.#ofModules].map(([table, added]) => ({ table, rows: [...added.values()] })),
			events: this.#events,
		};
	}

	/** Returns the deliveries that became due. The caller must announce them to the engines after the commit. */
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
			dueAtMs: this.#facts.batch.nowMs,
			ready: { deliveries, targets, readAtMs },
		};
	}

	#find(request: OrderOf): ConversionState | undefined {
		return request.conversionId === undefined
			? this.#byOrder.get(nameOf(request))
			: this.#byId.get(request.conversionId);
	}

	#add(state: ConversionState): ConversionState {
		const { id, programme_id: programmeId, order_id: orderId, event_type: eventType } = state.now;
		this.#byId.set(id, state);
		this.#byOrder.set(nameOf({ programmeId, orderId, eventType }), state);
		return state;
	}

	/** Starts a conversion. If the order has an earlier conversion, that one gets another order id. */
	#start(earlier: ConversionState | undefined, step: Extract<Step, { sale: unknown }>): ConversionState {
		if (earlier !== undefined) {
			this.#demandLock(earlier);
			const { order_id: orderId, public_id: publicId } = earlier.now;
			earlier.now = { ...earlier.now, order_id: nameAsReplaced({ orderId, publicId }) };
		}
		const id = -(this.#started.length + 1);
		const now = { ...composeNewConversion(step, this.#facts.batch.nowMs), id };
		const known = this.#facts.ofStarted;
		const started = this.#add({ stored: null, now, known, moves: [], bodyToKeep: null });
		this.#started.push(started);
		return started;
	}

	#change(state: ConversionState | undefined, step: Exclude<Step, { sale: unknown }>): ConversionState {
		if (state === undefined) throw new Error(`there is no conversion to ${step.move}`);
		this.#demandLock(state);
		const before = state.now;
		const after = composeChanged(before, step, this.#facts.batch.nowMs);
		if (isCorrection(step, before, after)) this.#keepBody(state);
		state.now = after;
		return state;
	}

	/**
	 * Stores the announced body in the conversion's moves before a correction changes the conversion. Moves that
	 * already have a body keep it.
	 */
	#keepBody(state: ConversionState): void {
		const body = composeEvent(subjectOf(state.now, this.#shopOf(state.now).publicId));
		if (state.stored !== null) state.bodyToKeep ??= body;
		for (const move of state.moves) if (AMOUNT_MOVES.includes(move.move)) move.announced_body ??= body;
	}

	/** Adds the rows, columns and events with which a module follows a move. */
	#addFollowed(state: ConversionState, row: NewMove, { rows, columns, events, known }: Followed): void {
		if (known !== undefined) state.known = { ...state.known, ...known };
		if (columns !== undefined) Object.assign(row, columns);
		for (const added of rows ?? []) this.#addRows(added);
		for (const { target, name, body } of events ?? []) this.#owe(state.now, target, name, () => body);
	}

	#addRows({ table, rows }: AddedRows): void {
		const added = this.#ofModules.get(table);
		if (added === undefined) throw new Error(`no module lists the table ${table.name}`);
		for (const row of rows) added.set(table.isOnePerConversion ? (row.conversion_id ?? 0) : added.size, row);
	}

	/**
	 * Adds an event for a receiver. If the receiver has no URL or no signing secret at this time, the event is never
	 * sent (contract section 1, rules 4 and 5).
	 */
	#owe(
		{ id: conversion_id }: Conversion,
		target: CallbackTarget,
		name: EventName,
		compose: () => string,
	): void {
		const { receiverId: receiver_id, endpointEpoch: endpoint_epoch, endpointId, secretId } = target;
		if (endpointId === null || secretId === null) return;
		const at_ms = this.#facts.batch.nowMs;
		const public_id = makeId("dlv", at_ms, this.#random.bytes(ID_RANDOM_BYTES));
		this.#events.push({
			conversion_id,
			receiver_id,
			endpoint_epoch,
			public_id,
			name,
			body: compose(),
			at_ms,
		});
		this.#targets.set(receiver_id, target);
	}

	#demandLock({ known }: ConversionState): void {
		if (!known.isLocked) throw new Error("a conversion changes without a lock");
	}

	#shopOf({ programme_id }: Conversion): ShopTarget {
		const shop = this.#facts.shops.get(programme_id);
		if (shop === undefined) throw new Error("the shop of a conversion was not read");
		return shop;
	}
}

function nameOf({ programmeId, orderId, eventType }: OrderOf): string {
	return `${programmeId} ${eventType} ${orderId}`;
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
