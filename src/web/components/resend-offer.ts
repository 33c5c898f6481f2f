// Where callbacks have failed for good, they are sent again: all of them, or after a look at the list.

import { html } from "hono/html";
import type { Programme } from "../../store/programmes.ts";
import type { Html } from "../html.ts";
import { integrationPath } from "../paths.ts";
import { button, linkButton, postForm } from "./forms.ts";
import { countUndelivered, deliveriesPath } from "./trouble-words.ts";

export interface ResendOffer {
	programme: Programme;
	csrf: Html;
	mayResend: boolean;
	/** How many have failed and were not resent; as far as they are counted. */
	failed: number;
}

export function resendOffer({ programme, csrf, mayResend, failed }: ResendOffer): Html | null {
	if (failed === 0) return null;
	const list = linkButton({
		label: "Failed callbacks",
		href: deliveriesPath(programme.public_id, "failed"),
		isSmall: true,
	});
	if (programme.endpoint_id === null || !mayResend) return html`<div class="row">${list}</div>`;
	return postForm({
		action: `${integrationPath(programme.public_id)}/resend-failed`,
		csrf,
		className: "row",
		body: html`<input type="hidden" name="back" value="?state=pending">${button({
			label: `Resend ${countUndelivered(failed)} failed`,
			isSmall: true,
			confirm:
				"Send all callbacks again that failed permanently? Your receiver ignores events it has already processed.",
		})}${list}`,
	});
}
