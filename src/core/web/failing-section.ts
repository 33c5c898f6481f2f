// The section "Failing callbacks" on the staff's lists of programmes and of partners.

import { explainFailure } from "../callbacks/failure-cause.ts";
import type { ReceiverKind } from "../domain/receiver.ts";
import { type FailingReceiver, listFailing } from "../store/queries/delivery-health.ts";
import { countUndelivered } from "./conversion-ui.ts";
import type { WebDeps } from "./page.ts";
import * as ui from "./ui.ts";
import { type Html, html } from "./ui.ts";

/** Maximum number of failing receivers that the section shows. */
const MOST_FAILING = 10;

/** Words and addresses for shops or for partners. */
export interface FailingWords {
	kind: ReceiverKind;
	/** Heading of the column with the names. */
	owner: string;
	/** Returns the page to which the name links. */
	path(publicId: string): string;
	/** Returns the address of the list of pending or failed callbacks. */
	listPath(publicId: string, state: "pending" | "failed"): string;
}

/** Returns the section, or null if no callbacks are failing. */
export async function failingSection(
	{ store, clock }: Pick<WebDeps, "store" | "clock">,
	{ kind, owner, path, listPath }: FailingWords,
): Promise<Html | null> {
	const { receivers, more } = await listFailing(store.reader, kind, MOST_FAILING, clock.nowMs());
	if (receivers.length === 0) return null;
	const rest =
		more === 0 ? "" : ` ${ui.countOf(more, kind)} more ${more === 1 ? "is" : "are"} not shown here.`;
	const [noun, nouns] = kind === "shop" ? ["Shops", "shops"] : ["Partners", "partners"];
	return ui.section({
		id: "failing",
		title: "Failing callbacks",
		hint: `The ${nouns} with the most undelivered callbacks first.${rest}`,
		body: ui.dataTable<FailingReceiver>({
			caption: `${noun} whose callbacks are failing`,
			rows: receivers,
			stacks: true,
			empty: null,
			columns: [
				{
					title: owner,
					namesRow: true,
					cell: ({ publicId, name }) => html`<a class="break" href="${path(publicId)}">${name}</a>`,
				},
				{ title: "Since", cell: ({ sinceMs }) => ui.timeTag(sinceMs) },
				{
					title: "Last failure",
					cell: (receiver) =>
						html`${receiver.last_failed_at_ms === null ? null : ui.timeTag(receiver.last_failed_at_ms)}<span class="secondary">${explainFailure(receiver).cause}</span>`,
				},
				{
					title: "Waiting",
					isNumber: true,
					cell: ({ publicId, waiting }) =>
						numberLink(waiting, countUndelivered(waiting), listPath(publicId, "pending")),
				},
				{
					title: "Failed permanently",
					isNumber: true,
					cell: ({ publicId, failed }) =>
						numberLink(failed, countUndelivered(failed), listPath(publicId, "failed")),
				},
			],
		}),
	});
}

/** Returns the words for a number with a link. A number of 0 is shown faintly, without a link. */
export function numberLink(number: number, words: string, href: string): Html {
	return number === 0 ? html`<span class="faint">0</span>` : html`<a href="${href}">${words}</a>`;
}
