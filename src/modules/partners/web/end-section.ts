// The form with which staff end one partnership, or all partnerships of a partner. Staff choose whether sales
// from earlier clicks are still credited.

import * as ui from "#core/web/ui.ts";
import { type Html, html } from "#core/web/ui.ts";

export function endSection(
	action: string,
	{ label, confirm, hidden }: { label: string; confirm: string; hidden?: Readonly<Record<string, string>> },
): Html {
	return ui.section({
		id: "end",
		title: label,
		hint: "Links then lead to the shop without a click ID, and coupon codes credit nobody. What was earned stays.",
		body: ui.padded(
			ui.postForm({
				action,
				className: "stack",
				...(hidden === undefined ? {} : { hidden }),
				body: html`${ui.checkbox({
					name: "clicks",
					label:
						"Also credit no more sales from clicks that were made before. Choose this for fraud: a click ID can be given to any number of buyers.",
				})}<div>${ui.button({ label, tone: "danger", confirm })}</div>`,
			}),
		),
	});
}
