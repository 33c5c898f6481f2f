// Compares a shop's own list of orders with the conversions of the service, and returns what differs. It changes
// nothing on either side.

import type { Conversion } from "../conversion-fields.ts";
import { conversionKey } from "../conversion-key.ts";
import { isDate } from "../is-date.ts";
import { isObject } from "../json.ts";
import { demand, isFilled } from "../option-checks.ts";
import type { ConversionStatus, EventType } from "../words.ts";
import type { Client } from "./create-client.ts";
import type { CallFailure } from "./failure.ts";
import type { QueryTime } from "./report.ts";

/** An order as the shop has it. Fields that are undefined are not compared. */
export type ShopOrder = {
	readonly orderId: string;
	/** Type of the event. Default: `SALE`. */
	readonly eventType?: EventType | undefined;
	readonly status?: ConversionStatus | undefined;
	/** Value that is left after refunds. All amounts are decimal strings. */
	readonly basketValue?: string | undefined;
	readonly commission?: string | undefined;
	readonly networkFee?: string | undefined;
	readonly currency?: string | undefined;
};

const comparedFields = ["status", "basketValue", "commission", "networkFee", "currency"] as const;
export type ComparedField = (typeof comparedFields)[number];

export type Difference =
	/** The shop has the order, and the service has no conversion of it. */
	| { readonly kind: "missing_at_service"; readonly order: ShopOrder }
	/** The service has the conversion, and the shop has no such order. */
	| { readonly kind: "missing_at_shop"; readonly conversion: Conversion }
	| {
			readonly kind: "differs";
			readonly order: ShopOrder;
			readonly conversion: Conversion;
			/** Names of the fields whose values differ. */
			readonly fields: readonly ComparedField[];
	  };

export type ReconcileOptions = {
	readonly client: Pick<Client, "conversions" | "allConversions">;
	/**
	 * The shop's orders. Give all orders that were placed or changed since `since`. Older orders may be among
	 * them, but each order that the service does not list costs a request.
	 */
	readonly orders: Iterable<ShopOrder> | AsyncIterable<ShopOrder>;
	/**
	 * Time from which conversions are compared, by when they were recorded or last changed. Take `nextSince` of the
	 * last run.
	 */
	readonly since: QueryTime;
	/** True to compare test conversions too. Default: false. */
	readonly includeTests?: boolean | undefined;
	readonly signal?: AbortSignal | undefined;
};

export type Reconciliation =
	| {
			readonly ok: true;
			readonly differences: readonly Difference[];
			/** Number of conversions and orders that were compared. */
			readonly compared: number;
			/**
			 * Value of `since` for the next run. It is ten minutes before the newest change, because the service lists
			 * a change only after its transaction has been committed.
			 */
			readonly nextSince: string;
	  }
	| CallFailure;

/** Time for which the next run lists changes again, because the transaction of a change may end later. */
const overlapMs = 10 * 60_000;

/** Compares the shop's orders with the conversions of the service. Throws only if an option is wrong. */
export async function reconcile(options: ReconcileOptions): Promise<Reconciliation> {
	demand(isObject(options), "reconcile needs its options: { client, orders, since }.");
	const { client, orders, includeTests = false, signal } = options;
	const since = readSince(options.since);
	const conversions = new Map<string, Conversion>();
	// The list of changes lacks conversions that have not changed since they were recorded, so two lists are
	// read.
	for (const query of [{ recordedFrom: since }, { changedFrom: since }]) {
		for await (const listed of client.allConversions(query, { signal })) {
			if (!listed.ok) return listed;
			conversions.set(keyOf(listed.conversion), listed.conversion);
		}
	}
	const nextSince = findNextSince(conversions.values(), since);
	const differences: Difference[] = [];
	let compared = 0;
	for await (const order of orders) {
		compared++;
		const key = keyOf(order);
		let conversion = conversions.get(key);
		if (conversion === undefined) {
			const page = await client.conversions({ orderId: order.orderId }, { signal });
			if (!page.ok) return page;
			conversion = page.conversions.find((one) => keyOf(one) === key);
		}
		conversions.delete(key);
		if (conversion === undefined) differences.push({ kind: "missing_at_service", order });
		else differences.push(...compare(order, conversion));
	}
	for (const conversion of conversions.values()) {
		// An expired report of a pixel is no sale, and tests are no sales either.
		if (conversion.status === "EXPIRED" || (conversion.test && !includeTests)) continue;
		compared++;
		differences.push({ kind: "missing_at_shop", conversion });
	}
	return { ok: true, differences, compared, nextSince };
}

/** Returns the time as a text. The service checks a text, and an invalid Date is refused here. */
function readSince(since: unknown): string {
	const text = isDate(since) && !Number.isNaN(since.getTime()) ? since.toISOString() : since;
	demand(isFilled(text), "since must be a valid Date, or a string such as 2026-03-01T13:00:00Z.");
	return text;
}

function compare(order: ShopOrder, conversion: Conversion): Difference[] {
	const fields = comparedFields.filter((field) => {
		const value = order[field];
		return value !== undefined && normalize(value) !== normalize(conversion[field]);
	});
	return fields.length === 0 ? [] : [{ kind: "differs", order, conversion, fields }];
}

/** Returns an amount without zeros at the end of its decimals, because `5.5` and `5.50` are equal. */
function normalize(value: string): string {
	if (!/^\d+\.\d+$/.test(value)) return value;
	let end = value.length;
	while (value[end - 1] === "0") end--;
	return value.slice(0, value[end - 1] === "." ? end - 1 : end);
}

function findNextSince(conversions: Iterable<Conversion>, since: string): string {
	const times = Array.from(conversions, ({ updatedAt }) => Date.parse(updatedAt)).filter((time) => time > 0);
	if (times.length === 0) return since;
	const newestMs = times.reduce((newest, time) => Math.max(newest, time));
	return new Date(newestMs - overlapMs).toISOString();
}

function keyOf({ orderId, eventType }: Pick<ShopOrder, "orderId" | "eventType">): string {
	return conversionKey(orderId, eventType);
}
