// The tabs and the balances above a partner's statements and above the entries of its account.

import { addAmounts } from "../../domain/money.ts";
import { monthIn, sayMonth } from "../../domain/statement.ts";
import { findBalances } from "../../store/queries/entries.ts";
import { type PageDeps, viewerOf, type WebContext } from "../page.ts";
import { entriesPath, partnerStatementsPath } from "../paths.ts";
import type { Html } from "../ui.ts";
import * as ui from "../ui.ts";

export function statementTabs(partnerId: string, active: "statements" | "entries"): Html {
	return ui.tabs("Statements", [
		{ label: "Statements", href: partnerStatementsPath(partnerId), isActive: active === "statements" },
		{ label: "All entries", href: entriesPath(partnerId), isActive: active === "entries" },
	]);
}

/** Shows what is still to be put into a statement, and what is still to be paid, in each currency. */
export async function balanceStrip(
	c: WebContext,
	{ store, clock }: PageDeps,
	partnerId: number,
): Promise<Html | null> {
	const balances = await findBalances(store.reader, partnerId);
	if (balances.length === 0) return null;
	const month = monthIn(clock.nowMs(), c.get("network").timeZone);
	const next = `Next statement: after the end of ${sayMonth(month)}`;
	const isStaff = viewerOf(c).kind === "staff";
	return ui.statStrip(
		balances.flatMap(({ currency, open, carried, due }) => [
			{
				label: "Open balance",
				value: ui.amount(addAmounts(open, carried), currency),
				hint: next,
			},
			{
				label: isStaff ? "To pay" : "To be paid to you",
				value: ui.amount(due, currency),
				hint: "From statements that were issued",
			},
		]),
	);
}
