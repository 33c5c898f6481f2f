// Compares the conversions and events in the database with the workload's ledger. Every acknowledged change
// and every owed event must be stored, and nothing else.

import type { DatabaseSync } from "node:sqlite";
import { isDeepStrictEqual } from "node:util";
import { bodySentAt } from "#core/domain/event.ts";
import type { EventName } from "#core/domain/event-name.ts";
import type { Credit } from "#modules/partners/domain/credit.ts";
import { demand } from "../support/broken.ts";
import {
	amountsOf,
	coinsOf,
	type LifeState,
	type ModelRefund,
	type OwedBody,
	type Terms,
	UNKNOWN,
} from "../support/lifecycle-model.ts";
import type { Order, OrderLedger } from "./order-ledger.ts";

interface ConversionRow {
	id: number;
	public_id: string;
	programme_id: number;
	order_id: string;
	event_type: string;
	status: string;
	basket_value: string;
	reason: string | null;
	test: number;
	occurred_at_ms: number;
	window_ends_at_ms: number | null;
	updated_at_ms: number;
	source: string;
	confirmed_at_ms: number | null;
	pixel_basket_value: string | null;
	commission: string;
	network_fee: string;
	refunded_value: string | null;
	/** Status after the last move in the history. */
	moved_to: string | null;
}

/** Restricts the possible states of every order to those that agree with the database. Throws if no state is left. */
export function auditLives(database: DatabaseSync, ledger: OrderLedger): void {
	const conversions = database
		.prepare(
			`select c.*, (select to_status from moves m where m.conversion_id = c.id order by m.id desc limit 1) as moved_to
				from conversions c`,
		)
		.all() as unknown as ConversionRow[];
	// Events of partners are left out here, because partner-receivers.ts audits them.
	const events = database
		.prepare(
			`select e.conversion_id, e.name, e.body from events e
				join receivers r on r.id = e.receiver_id and r.kind = 'shop'`,
		)
		.all();
	const byOrder = new Map(
		conversions.map((row) => [`${row.programme_id} ${row.event_type} ${row.order_id}`, row]),
	);
	const eventsOf = Map.groupBy(events, (row) => Number(row["conversion_id"]));
	const credits = database.prepare("select * from credits").all();
	const creditOf = new Map(credits.map((row) => [Number(row["conversion_id"]), { ...row }]));
	const refunds = database
		.prepare(
			"select conversion_id, refund_id as refundId, amount, basket_value as left from refunds order by id",
		)
		.all();
	const refundsOf = Map.groupBy(refunds, (row) => Number(row["conversion_id"]));
	const take = (name: string): Stored => {
		const row = byOrder.get(name);
		byOrder.delete(name);
		const owed = row === undefined ? [] : (eventsOf.get(row.id) ?? []);
		const credit = row === undefined ? undefined : creditOf.get(row.id);
		if (row !== undefined) eventsOf.delete(row.id);
		if (row !== undefined) creditOf.delete(row.id);
		const made = (refundsOf.get(row?.id ?? 0) ?? []).map(({ conversion_id: _, ...refund }) => refund);
		refundsOf.delete(row?.id ?? 0);
		return { row, owed, credit, refunds: made as unknown as ModelRefund[] };
	};
	const replacedNames = new Map(
		[...byOrder].flatMap(([name, { public_id: id }]) =>
			name.endsWith(` (${id})`) ? [[name.slice(0, -` (${id})`.length), name] as const] : [],
		),
	);
	const isPlain = byOrder.size === conversions.length;
	demand(isPlain, "2 each move creates one event", () => "an order has two conversions");
	for (const order of ledger.orders) {
		const name = `${order.programme.id} ${order.eventType} ${order.orderId}`;
		auditOrder(order, ledger, [take(name), take(replacedNames.get(name) ?? "")]);
	}
	const strays = [...byOrder.keys(), ...eventsOf.keys(), ...creditOf.keys(), ...refundsOf.keys()];
	demand(strays.length === 0, "nothing unexpected happens", () => `nobody reported ${strays.join(", ")}`);
}

interface Stored {
	row: ConversionRow | undefined;
	owed: readonly Record<string, unknown>[];
	credit: Record<string, unknown> | undefined;
	refunds: readonly ModelRefund[];
}

function auditOrder(order: Order, ledger: OrderLedger, [last, before]: readonly [Stored, Stored]): void {
	const { row, owed: events } = last;
	const possible = ledger.statesNow(order);
	const stored = possible.filter(
		(state) => isStoredAs(state, last) && isStoredAs(state.replaced ?? UNKNOWN, before),
	);
	demand(stored.length > 0, "1 an answered change is stored", () => {
		const statuses = possible.map(({ status, basketValue }) => `${status} ${basketValue}`).join(" or ");
		return `order ${order.orderId} must be ${statuses} and is ${row?.status ?? "not there"} ${row?.basket_value ?? ""}`;
	});
	const owing = stored.filter(
		(state) => owesJust(state, events) && owesJust(state.replaced ?? UNKNOWN, before.owed),
	);
	const present = events.map(({ name }) => name).join(", ");
	demand(owing.length > 0, "2 each move creates one event", () => {
		const owed = stored.map((state) => [...state.events.keys()].join(", ") || "nothing").join(" or ");
		return `order ${order.orderId} is owed ${owed}; there is ${present || "nothing"}`;
	});
	const { terms } = order.programme;
	const credited = owing.filter(
		(state) => isCreditedAs(state, last) && isCreditedAs(state.replaced ?? UNKNOWN, before),
	);
	const there = () => JSON.stringify([last, before]);
	demand(credited.length > 0, "a credit follows from what the shop's server signed", () => {
		const signed = owing.map((state) => JSON.stringify(state.brought?.credit));
		return `order ${order.orderId} must be ${signed.join(" or ")}; there is ${there()}`;
	});
	order.states = credited.filter(
		(state) => isPricedAs(state, last, terms) && isPricedAs(state.replaced ?? UNKNOWN, before, terms),
	);
	demand(order.states.length > 0, "12 amounts follow from the rates of the sale", () => {
		const due = credited.map((state) => JSON.stringify([state.brought, amountsOf(state, terms)]));
		return `order ${order.orderId} must have ${due.join(" or ")}; there is ${there()}`;
	});
}

function isCreditedAs(state: LifeState, { row, credit }: Stored): boolean {
	if (row === undefined) return true;
	const signed = state.brought === null ? undefined : storedCredit(state.brought.credit, row);
	return isDeepStrictEqual(credit, signed);
}

function isPricedAs(state: LifeState, { row }: Stored, terms: Terms): boolean {
	if (row === undefined) return true;
	const { commission, networkFee } = amountsOf(state, terms);
	return row.commission === commission && row.network_fee === networkFee;
}

/** Returns the row that a credit must have. It is written independently of the product's mapping. */
function storedCredit(
	{ partnershipId, word, linkId, clickedAtMs, subIds }: Credit,
	conversion: ConversionRow,
): Record<string, unknown> {
	return {
		conversion_id: conversion.id,
		programme_id: conversion.programme_id,
		partnership_id: partnershipId,
		word,
		sold_at_ms: conversion.occurred_at_ms,
		link_id: linkId,
		clicked_at_ms: clickedAtMs,
		sub_1: subIds[0],
		sub_2: subIds[1],
		sub_3: subIds[2],
	};
}

function isStoredAs(state: LifeState, { row, refunds }: Stored): boolean {
	if (row === undefined) return state.status === "NONE";
	const isUnsigned = row.source === "pixel" && row.confirmed_at_ms === null;
	return (
		isUnsigned === state.isUnsigned &&
		row.status === state.status &&
		row.moved_to === state.status &&
		hasWindow(state, row) &&
		row.pixel_basket_value === state.pixelBasketValue &&
		row.basket_value === state.basketValue &&
		row.reason === state.reason &&
		(row.test === 1) === state.test &&
		row.occurred_at_ms === state.occurredAtMs &&
		isRefundedAs(state, row, refunds)
	);
}

/** Returns whether the refunds are stored. A refund of the whole rest is a reversal and not part of the sum. */
function isRefundedAs(state: LifeState, row: ConversionRow, refunds: readonly ModelRefund[]): boolean {
	const partial = refunds.filter(({ left }) => coinsOf(left) > 0n);
	const sum = partial.reduce((total, { amount }) => total + coinsOf(amount), 0n);
	return isDeepStrictEqual(refunds, state.refunds) && coinsOf(row.refunded_value ?? "0") === sum;
}

/**
 * Returns whether the stored end of the window is right. An expired conversion has the time at which the chore
 * processed it, because the retention time counts from then.
 */
function hasWindow({ windowEndsAtMs }: LifeState, row: ConversionRow): boolean {
	if (row.status === "EXPIRED") return row.window_ends_at_ms === row.updated_at_ms;
	return row.window_ends_at_ms === windowEndsAtMs;
}

function owesJust({ events: owed }: LifeState, events: readonly Record<string, unknown>[]): boolean {
	if (events.length !== owed.size) return false;
	return events.every(({ name, body }) => {
		const expected = owed.get(String(name));
		return (
			expected !== undefined && says(JSON.parse(bodySentAt(name as EventName, String(body), 0)), expected)
		);
	});
}

function says(body: Record<string, unknown>, expected: OwedBody): boolean {
	return Object.entries(expected).every(([field, value]) => body[field] === value);
}
