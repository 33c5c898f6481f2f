// Messages that staff see after the database was restored, until they have compared payments with the bank.

import { findUncompared, type Uncompared } from "#core/store/queries/restores.ts";
import { declareForm } from "#core/web/form.ts";
import type { PageDeps, WebContext } from "#core/web/page.ts";
import { PAYMENTS_PATH, STATEMENTS_PATH } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { type Html, html } from "#core/web/ui.ts";
import { monthEndMs } from "../domain/statement.ts";

export const COMPARED_PATH = `${STATEMENTS_PATH}/compared`;

export const COMPARED_FORM = declareForm({
	compared: { label: "All payments since the backup were compared with the bank", isBox: true },
	lastId: { label: "", isHidden: true },
});

/** Label of the box with which a person confirms that a statement was paid after the backup was made. */
export const SEEN_LABEL = "The bank's list shows this payment";

export const isUncompared = async ({ store }: Pick<PageDeps, "store">): Promise<boolean> =>
	(await findUncompared(store.db)) !== null;

/** The section with the steps and the confirmation, or null if nothing has to be compared. */
export async function comparisonSection(c: WebContext, { store }: PageDeps): Promise<Html | null> {
	const uncompared = await findUncompared(store.db);
	if (uncompared === null) return null;
	const { lastId } = uncompared;
	return ui.section({
		id: "compare",
		title: "Compare payments with the bank",
		hint: html`The database was restored on ${ui.timeTag(uncompared.restoredAtMs)}, from a backup of ${ui.timeTag(uncompared.asOfMs)}. There is no payout file until you confirm below.`,
		body: ui.padded(
			ui.message(
				"warn",
				html`<strong>Payments that were recorded after the backup are not known here.</strong> Whoever pays what is listed as “To pay” may pay it twice.`,
			),
			html`<ol class="points"><li><strong>Issue the missing months again.</strong> Statements that were issued after the backup are gone. Their partners may have them, and may get the mail a second time. Compare the new numbers and totals with the payout files that you have: the same number can be another partner's now.</li><li><strong>Upload what was paid</strong> since the backup under <a href="${PAYMENTS_PATH}">Upload payments</a>: the payout files that you sent to the bank, with a column <code>date</code>, or the bank's list. Lines need the amount or the partner's ID, so that no number is taken for another statement.</li><li><strong>Check what is left “To pay”</strong> against the bank's list. If the service was stopped when the backup was made, nothing is missing.</li></ol>`,
			COMPARED_FORM.show(c, {
				action: COMPARED_PATH,
				values: { lastId: String(lastId) },
				send: "Confirm",
			}),
		),
	});
}

/** A short warning for other pages about payments, or null if nothing has to be compared. */
export async function comparisonMessage({ store }: Pick<PageDeps, "store">): Promise<Html | null> {
	const uncompared = await findUncompared(store.db);
	if (uncompared === null) return null;
	return ui.message(
		"warn",
		html`The database was restored. Payments that were recorded after ${ui.timeTag(uncompared.asOfMs)} are not known here, so check the bank's list before you pay anything. <a href="${STATEMENTS_PATH}#compare">What to do</a>`,
	);
}

/** Warns that statements of a month may have been issued before the restore, or returns null if they cannot have been. */
export async function issuedBeforeMessage(
	{ store }: Pick<PageDeps, "store">,
	month: string,
	zone: string,
): Promise<Html | null> {
	const uncompared = await findUncompared(store.db);
	if (uncompared === null || !mayHaveBeenIssued(uncompared, month, zone)) return null;
	return ui.message(
		"warn",
		html`<strong>Statements of this month may have been issued before.</strong> The database was restored, and statements that were issued after ${ui.timeTag(uncompared.asOfMs)} are gone. Partners may have them, and they may have been paid. Compare numbers and totals with the payout files that you have. <a href="${STATEMENTS_PATH}#compare">What to do</a>`,
	);
}

/** Only a month that was over can have been issued before the restore. */
function mayHaveBeenIssued({ restoredAtMs }: Uncompared, month: string, zone: string): boolean {
	return monthEndMs(month, zone) <= restoredAtMs;
}
