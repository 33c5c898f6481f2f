// Computes what a file of decisions must say about its money from the history in the database, and makes
// random files for it. The amounts are computed here, because the code under test must not check itself.

import { equal, ok } from "node:assert/strict";
import fc from "fast-check";
import type { Db } from "#core/store/store.ts";
import type { JobSummary } from "./summary.ts";

/** Number of sales that the lines of a random file are about. */
export const SALES = 4;

export const FILE_HEADER = "orderId,decision,reason,amount,refundId";

/** Name of the sale with this number. It is the order ID of the sale. */
export function orderOf(sale: number): string {
	return `S-${sale}`;
}

/** A line of a random file. A sale has at most one decision other than refunds, because two contradict each other. */
const ANY_LINE = fc.record({
	sale: fc.nat(SALES - 1),
	move: fc.constantFrom("refund", "refund", "refund", "decide"),
	cents: fc.oneof(fc.integer({ min: 1, max: 4_000 }), fc.constantFrom(5_000, 10_000)),
	refund: fc.nat(5),
});

const ANY_DECISION = fc.constantFrom("approve,", "reject,FRAUD", "reverse,RETURN");

/** Lines of a file about a few sales, in which lines about the same sale follow each other in any order. */
export const ANY_FILE = fc
	.record({
		lines: fc.array(ANY_LINE, { minLength: 4, maxLength: 14 }),
		decisions: fc.tuple(...Array.from({ length: SALES }, () => ANY_DECISION)),
	})
	.map(({ lines, decisions }) =>
		lines.map(({ sale, move, cents, refund }) =>
			move === "decide"
				? `${orderOf(sale)},${decisions[sale]},,`
				: `${orderOf(sale)},refund,RETURN,${(cents / 100).toFixed(2)},R-${refund}`,
		),
	);

/** The sums of a summary as one text for each status. */
export function sumsOf({ money }: JobSummary): string[] {
	return money.map(({ status, rows, basket, commission, fee }) =>
		[status, rows, basket, commission, fee].join(" "),
	);
}

/** A sale before a file is applied. Amounts are in cents. */
interface Sale {
	basket: bigint;
	commission: bigint;
	fee: bigint;
}

/** The sales of a programme before a file is applied, by the ids of their conversions. */
export async function readSales(db: Db, programmeId: number): Promise<Map<number, Sale>> {
	const rows = await db
		.selectFrom("conversions")
		.select(["id", "basket_value", "commission", "network_fee"])
		.where("programme_id", "=", programmeId)
		.execute();
	return new Map(
		rows.map((row) => [
			row.id,
			{
				basket: centsOf(row.basket_value),
				commission: centsOf(row.commission),
				fee: centsOf(row.network_fee),
			},
		]),
	);
}

/**
 * Returns the sums of the moves that a person has made, in the form of `sumsOf`. The history of every sale is
 * replayed, with the moves of others, and must end with the amounts that the database has.
 */
export async function sumsOfHistory(
	db: Db,
	programmeId: number,
	before: ReadonlyMap<number, Sale>,
	personId: number,
): Promise<string[]> {
	const sums = new Map<string, Sale & { rows: number }>();
	for (const [id, start] of before) {
		const moves = await db
			.selectFrom("moves")
			.select(["move", "to_status", "person_id"])
			.where("conversion_id", "=", id)
			.orderBy("id")
			.execute();
		const stored = await db
			.selectFrom("refunds")
			.select(["amount", "basket_value"])
			.where("conversion_id", "=", id)
			.orderBy("id")
			.execute();
		const refunds = stored.filter(({ basket_value }) => centsOf(basket_value) > 0n).values();
		let sale = start;
		for (const { move, to_status: status, person_id } of moves) {
			const moved = { ...sale };
			if (move === "refund") {
				const { value: refund } = refunds.next();
				ok(refund !== undefined, "a refund was moved without its row");
				const basket = centsOf(refund.basket_value);
				equal(sale.basket - basket, centsOf(refund.amount));
				const left = { basket, commission: shareOf(basket, 750n), fee: shareOf(basket, 200n) };
				moved.basket -= left.basket;
				moved.commission -= left.commission;
				moved.fee -= left.fee;
				sale = left;
			}
			if (person_id === personId) add(sums, move === "refund" ? "REFUNDED" : status, moved);
		}
		const end = (await readSales(db, programmeId)).get(id);
		equal(JSON.stringify(end, writeBigInt), JSON.stringify(sale, writeBigInt));
	}
	const order = ["APPROVED", "REJECTED", "REVERSED", "REFUNDED"];
	return order.flatMap((status) => {
		const sum = sums.get(status);
		if (sum === undefined) return [];
		return [status, sum.rows, ...[sum.basket, sum.commission, sum.fee].map(writeCents)].join(" ");
	});
}

function add(sums: Map<string, Sale & { rows: number }>, status: string, moved: Sale): void {
	const sum = sums.get(status) ?? { basket: 0n, commission: 0n, fee: 0n, rows: 0 };
	sums.set(status, {
		basket: sum.basket + moved.basket,
		commission: sum.commission + moved.commission,
		fee: sum.fee + moved.fee,
		rows: sum.rows + 1,
	});
}

/** Returns a share of an amount, rounded half up. The rate is in hundredths of a percent. */
function shareOf(cents: bigint, rate: bigint): bigint {
	return (cents * rate + 5_000n) / 10_000n;
}

function centsOf(amount: string): bigint {
	return BigInt(amount.replace(".", ""));
}

function writeCents(cents: bigint): string {
	const digits = String(cents).padStart(3, "0");
	return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

function writeBigInt(_: string, value: unknown): unknown {
	return typeof value === "bigint" ? String(value) : value;
}
