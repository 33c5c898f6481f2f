// Amounts of Vendure as amounts of the API. Vendure has integers, and the API has decimal strings.

import type { Order } from "@vendure/core";
import type { BasketRule } from "./options";

/** Returns the value of an order by the programme's rule, as an integer. Vendure has already deducted all discounts. */
export function basketValueOf(
	order: Pick<Order, "total" | "totalWithTax" | "subTotal" | "subTotalWithTax">,
	rule: BasketRule,
): number {
	switch (rule) {
		case "TOTAL":
			return order.totalWithTax;
		case "TOTAL_NET":
			return order.total;
		case "GOODS":
			return order.subTotalWithTax;
		case "GOODS_NET":
			return order.subTotal;
		default:
			return rule satisfies never;
	}
}

/**
 * Returns the part of the reported value that is left after refunds. A refund is an amount that the customer paid, with
 * VAT and shipping, so the reported value is lowered in proportion.
 */
export function valueLeft(sale: { reported: number; paid: number }, refunded: number): number {
	if (refunded >= sale.paid) return 0;
	return Math.round((sale.reported * (sale.paid - refunded)) / sale.paid);
}

/**
 * Writes an integer as a decimal string. `precision` is the number of decimals of Vendure's money strategy, and the
 * currency may have fewer.
 */
export function writeAmount(value: number, currency: string, precision: number): string {
	const digits = new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions()
		.maximumFractionDigits ?? precision;
	const text = String(Math.abs(value)).padStart(precision + 1, "0");
	const whole = text.slice(0, text.length - precision);
	const fraction = text.slice(text.length - precision).padEnd(digits, "0").slice(0, digits);
	return fraction === "" ? whole : `${whole}.${fraction}`;
}
