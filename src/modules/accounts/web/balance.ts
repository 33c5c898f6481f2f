// The tabs and the balances above a partner's statements and above the entries of its account.

import { addAmounts, minorUnits } from "#core/domain/money.ts";
import { sayMonth } from "#core/domain/zone-day.ts";
import { type PageDeps, viewerOf, type WebContext } from "#core/web/page.ts";
import { entriesPath, partnerStatementsPath } from "#core/web/paths.ts";
import type { Html } from "#core/web/ui.ts";
import * as ui from "#core/web/ui.ts";
import { type MinimumPayouts, readMinimums } from "../domain/minimum-payout.ts";
import { isCarriedForward, monthIn } from "../domain/statement.ts";
import { findBalances } from "../store/entries.ts";
import { findStatementSettings } from "../store/statements.ts";

export function statementTabs(partnerId: string, active: "statements" | "entries"): Html {
	return ui.tabs("Statements", [
		{ label: "Statements", href: partnerStatementsPath(partnerId), isActive: active === "statements" },
		{ label: "All entries", href: entriesPath(partnerId), isActive: active === "entries" },
	]);
}

/**
 * Shows a partner's balance that no statement contains yet, and the statements that must still be paid, in
 * each currency.
 */
export async function balanceStrip(
	c: WebContext,
	{ store, clock }: PageDeps,
	partnerId: number,
): Promise<Html | null> {
	const balances = await findBalances(store.reader, partnerId);
	if (balances.length === 0) return null;
	const settings = await findStatementSettings(store.db);
	const minimums = readMinimums(settings.minimum_payouts);
	const month = sayMonth(monthIn(clock.nowMs(), settings.time_zone));
	const isStaff = viewerOf(c).kind === "staff";
	return ui.statStrip(
		balances.flatMap(({ currency, open, carried, due }) => {
			const balance = addAmounts(open, carried);
			return [
				{
					label: "Open balance",
					value: ui.amount(balance, currency),
					hint: `Next statement: after the end of ${month}.${sayWhyUnpaid(balance, currency, minimums)}`,
				},
				{
					label: isStaff ? "To pay" : "To be paid to you",
					value: ui.amount(due, currency),
					hint: "From statements that were issued.",
				},
			];
		}),
	);
}

/** Returns the sentence that explains why the balance would be carried forward, or nothing if it would be paid. */
function sayWhyUnpaid(balance: string, currency: string, minimums: MinimumPayouts): string {
	const minimum = minimums.get(currency);
	if (minorUnits(balance) < 0n) return " It is settled with later earnings.";
	if (minimum === undefined || !isCarriedForward(balance, minimum)) return "";
	return ` Paid out from ${ui.decimal(minimum)} ${currency}.`;
}
