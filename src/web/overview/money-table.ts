// Money by status: how many conversions, and what they add up to. Exact sums, test conversions left out.

import { html } from "hono/html";
import type { StatusTotal, Tally } from "../../conversions/tally.ts";
import type { Status } from "../../domain/conversion.ts";
import { currencyDigits, formatMinor } from "../../domain/money.ts";
import { statusBadge } from "../components/conversion-cells.ts";
import { dataTable } from "../components/lists.ts";
import { amount, count } from "../components/text.ts";
import type { Html } from "../html.ts";
import { conversionsPath, withQuery } from "../paths.ts";

/** In the order of a conversion's life, with what the word alone does not say. */
const ROWS: readonly (readonly [status: Status, hint: string])[] = [
	["PARKED", "waits for the shop's confirmation"],
	["RECORDED", "waits for approval"],
	["APPROVED", ""],
	["REJECTED", ""],
	["REVERSED", ""],
	["EXPIRED", "never confirmed"],
];

interface MoneyRow {
	status: Status;
	hint: string;
	total: StatusTotal;
}

export function moneyTable(programme: { public_id: string; currency: string }, tally: Tally): Html {
	const digits = currencyDigits(programme.currency);
	const money = (minor: bigint) =>
		amount(formatMinor(minor, digits.ok ? digits.value : 0), programme.currency);
	const rows = ROWS.flatMap(([status, hint]): MoneyRow[] => {
		const total = tally.totals.get(status);
		return total === undefined ? [] : [{ status, hint, total }];
	});
	return dataTable<MoneyRow>({
		caption: "Sums by status",
		rows,
		empty: null,
		columns: [
			{
				title: "Status",
				cell: ({ status, hint }) =>
					html`<a href="${withQuery(conversionsPath(programme.public_id), { status })}">${statusBadge(status)}</a> <span class="small soft">${hint}</span>`,
			},
			{ title: "Conversions", isNumber: true, cell: ({ total }) => count(total.count) },
			{ title: "Basket", isNumber: true, cell: ({ total }) => money(total.basketMinor) },
			{ title: "Commission", isNumber: true, cell: ({ total }) => money(total.commissionMinor) },
			{ title: "Network fee", isNumber: true, cell: ({ total }) => money(total.feeMinor) },
		],
	});
}
