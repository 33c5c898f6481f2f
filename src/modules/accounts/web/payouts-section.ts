// The section of the network's page with the settings for statements: the network's postal address, and a minimum payout
// for each currency that programmes use.

import { CURRENCIES } from "#core/domain/money.ts";
import { findNetwork } from "#core/store/queries/network.ts";
import { listCurrencies } from "#core/store/queries/programmes.ts";
import type { Db } from "#core/store/store.ts";
import { declareForm, type FormField } from "#core/web/form.ts";
import type { WebContext } from "#core/web/page.ts";
import { PAYOUT_SETTINGS_PATH } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { type Html, html } from "#core/web/ui.ts";
import { minimumField, readMinimums } from "../domain/minimum-payout.ts";
import type { PayoutSettingsInput } from "../use-cases/payout-settings.ts";

const ADDRESS = "postalAddress";

/** Form with a field for every currency. The page shows only those that are in use. */
export const PAYOUTS_FORM = declareForm<string>({
	[ADDRESS]: {
		label: "Postal address",
		hint: "Shown on statements below the network's name. Add your VAT ID here if statements must show it.",
		rows: 4,
	},
	...Object.fromEntries(
		CURRENCIES.map((currency): [string, FormField] => [
			minimumField(currency),
			{ label: `Minimum payout, ${currency}`, inputMode: "decimal" },
		]),
	),
});

export async function payoutsSection(c: WebContext, db: Db): Promise<Html> {
	const { postal_address: address, minimum_payouts: stored } = await findNetwork(db);
	const minimums = readMinimums(stored);
	const currencies = await listShown(db, stored);
	const values = Object.fromEntries(
		currencies.map((currency) => [minimumField(currency), minimums.get(currency)]),
	);
	const fields = currencies.map(minimumField);
	const form = PAYOUTS_FORM.show(c, {
		action: PAYOUT_SETTINGS_PATH,
		values: { ...values, [ADDRESS]: address },
		shown: [ADDRESS, ...fields],
		rows: (filled) =>
			html`${filled.fields(ADDRESS)}${
				fields.length === 0
					? html`<p class="small soft">Minimum payouts can be entered when there is a programme.</p>`
					: html`<div class="form-grid">${filled.fields(...fields)}</div><p class="small soft">A statement below the minimum is carried forward to the next one. Leave a field empty to pay every amount.</p>`
			}`,
		send: "Save payouts",
	});
	return ui.section({
		id: "payouts",
		title: "Statements and payouts",
		hint: "Used for statements that you prepare from now on. Issued statements do not change.",
		body: ui.padded(form),
	});
}

/** Returns the currencies that are used by programmes or have a minimum payout. */
async function listShown(db: Db, stored: string): Promise<string[]> {
	return [...new Set([...(await listCurrencies(db)), ...readMinimums(stored).keys()])].sort();
}

/** Reads the form. A currency that the page does not show keeps no minimum, because it had none. */
export async function readPayoutsForm(c: WebContext, db: Db): Promise<PayoutSettingsInput> {
	const typed = await PAYOUTS_FORM.read(c);
	const currencies = await listShown(db, (await findNetwork(db)).minimum_payouts);
	return {
		postalAddress: typed[ADDRESS] ?? "",
		minimums: new Map(currencies.map((currency) => [currency, typed[minimumField(currency)] ?? ""])),
	};
}
