// The cells that describe a sale in files of conversions: the order, its event type and time, and the money.

import { EVENT_TYPES, parseEventType } from "#core/domain/conversion.ts";
import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { parseTypedAmount } from "#core/domain/money.ts";
import { amountAt, type Rates } from "#core/domain/rate.ts";
import { saleTimeProblem } from "#core/domain/time.ts";
import { findNamedProgrammes } from "#core/programmes/named-programmes.ts";
import type { Conversion } from "#core/store/queries/conversions.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import { type Cells, cellOf, type JobColumn, type JobKind } from "./kind.ts";
import { readWrittenTime } from "./written-time.ts";

export const PROGRAMME_COLUMN: JobColumn = {
	name: "programme",
	means: "Its name as it is here, or its ID (prg_…).",
};

// Spaces are part of an order id, so they are not removed.
export const ORDER_COLUMN: JobColumn = {
	name: "order_id",
	means: "The shop's own order number.",
	keepsSpace: true,
};

export const EVENT_TYPE_COLUMN: JobColumn = {
	name: "event_type",
	means: `${EVENT_TYPES.join(", ")}. Left out, it is SALE.`,
	isOptional: true,
};

export const SOLD_AT_COLUMN: JobColumn = {
	name: "sold_at",
	means:
		"2026-02-01, 2026-02-01 10:15, 2026-02-01T10:15:00+01:00 or 01.02.2026 10:15. In UTC unless it says otherwise.",
};

export const AMOUNT_COLUMN: JobColumn = {
	name: "amount",
	means:
		"129.90 or 129,90, without a separator for thousands. In currencies with three decimals write a point, as 129.900.",
};

export const CURRENCY_COLUMN: JobColumn = {
	name: "currency",
	means: "For checking only. It must be the programme's currency.",
	isOptional: true,
};

export const FEE_COLUMN: JobColumn = {
	name: "fee",
	means: "An amount, like commission.",
	isOptional: true,
};

export function eventTypeOf(cells: Cells): string {
	return cellOf(cells, "event_type").toUpperCase() || "SALE";
}

/** Cell with the ID of the programme that a line names. */
const FOUND_PROGRAMME = "programmeId";

/**
 * The part of a kind of job that tells which lines are about the same conversion. One line may name the programme by its
 * name and another one by its ID, so the programme is found once, when the lines are stored.
 */
export function comparedByOrder(
	columns: readonly JobColumn[],
): Required<Pick<JobKind, "found" | "prepare" | "keyOf" | "saysOf">> {
	const isName = (name: string) =>
		[PROGRAMME_COLUMN, ORDER_COLUMN, EVENT_TYPE_COLUMN].some((one) => one.name === name);
	const others = columns.map(({ name }) => name).filter((name) => !isName(name));
	return {
		found: [FOUND_PROGRAMME],
		async prepare(db, _, rows) {
			const named = rows.map(({ cells }) => cellOf(cells, "programme"));
			const programmeOf = await findNamedProgrammes(db, named);
			return rows.map(({ line, cells }) => {
				const programme = programmeOf(cellOf(cells, "programme"));
				const id = programme.ok ? programme.value.public_id : "";
				return { line, cells: { ...cells, [FOUND_PROGRAMME]: id } };
			});
		},
		keyOf: (cells) =>
			[
				cellOf(cells, FOUND_PROGRAMME) || cellOf(cells, "programme"),
				eventTypeOf(cells),
				cellOf(cells, "order_id"),
			].join("\n"),
		saysOf: (cells) => JSON.stringify(others.map((name) => cellOf(cells, name))),
	};
}

/** Identifies a stored conversion. */
export function nameOfOrder({ programme_id, order_id, event_type }: OrderName): string {
	return `${programme_id} ${event_type} ${order_id}`;
}

export type OrderName = Pick<Conversion, "programme_id" | "order_id" | "event_type">;

/** Parses the time in a cell, which must be in the past. Refuses an empty cell. */
export function readPastTime(cells: Cells, column: string, nowMs: number): Result<number> {
	const read = readTime(cells, column);
	if (!read.ok) return read;
	const problem = saleTimeProblem(read.value, nowMs);
	return problem === null ? read : refuse("invalid_field", `${column} ${problem}`, column);
}

/** Parses the time in a cell. Refuses an empty cell. */
export function readTime(cells: Cells, column: string): Result<number> {
	const text = cellOf(cells, column);
	const atMs = readWrittenTime(text);
	if (atMs !== null) return succeed(atMs);
	const form = "must be a time such as 2026-03-01 13:30 or 2026-03-01T13:30:00+01:00, or a day.";
	return refuse("invalid_field", `${column} ${text === "" ? "is missing." : form}`, column);
}

export interface SaleAmounts {
	basket: string;
	commission: string;
	fee: string;
	/** True for the amounts for which the file has a column. A missing amount is computed from the rates. */
	says: { commission: boolean; fee: boolean };
}

export function readAmounts(cells: Cells, { currency }: Programme, rates: Rates): Result<SaleAmounts> {
	const lineCurrency = cellOf(cells, "currency").toUpperCase();
	if (lineCurrency !== "" && lineCurrency !== currency) {
		const detail = `The programme is in ${currency}, and the line in ${lineCurrency}. Convert the amounts, or correct the currency.`;
		return refuse("wrong_currency", detail, "currency");
	}
	const basket = readAmount(cells, "amount", currency);
	if (!basket.ok) return basket;
	const says = { commission: cellOf(cells, "commission") !== "", fee: cellOf(cells, "fee") !== "" };
	const commission = says.commission
		? readAmount(cells, "commission", currency)
		: succeed(amountAt(basket.value, rates.commission));
	if (!commission.ok) return commission;
	const fee = says.fee ? readAmount(cells, "fee", currency) : succeed(amountAt(basket.value, rates.fee));
	if (!fee.ok) return fee;
	return succeed({ basket: basket.value, commission: commission.value, fee: fee.value, says });
}

function readAmount(cells: Cells, column: string, currency: string): Result<string> {
	return parseTypedAmount(cellOf(cells, column), currency, column);
}

/** Returns the event type for which rates are looked up. An unknown type is refused separately. */
export function ratedTypeOf(cells: Cells) {
	const eventType = parseEventType(eventTypeOf(cells));
	return eventType.ok ? eventType.value : "OTHER";
}
