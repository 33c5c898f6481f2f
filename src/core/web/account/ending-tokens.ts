// Shows boxes for the API tokens that end with a person's old password, on the pages that set a new one. All boxes are
// ticked. A person should untick a token only if a program needs it and nobody else has a copy.

import { showToken } from "../../domain/api-token.ts";
import { type IssuedToken, listTokensIssuedBy } from "../../store/queries/api-tokens.ts";
import { readUnticked } from "../form.ts";
import type { WebContext, WebDeps } from "../page.ts";
import * as ui from "../ui.ts";
import { type Html, html } from "../ui.ts";

/**
 * Returns the boxes, or null if the person has issued no token. If the form was refused, the boxes are as the person
 * left them.
 */
export async function endingTokens(
	c: WebContext,
	{ store, clock }: Pick<WebDeps, "store" | "clock">,
	personId: number,
): Promise<Html | null> {
	const tokens = await listTokensIssuedBy(store.db, personId, { nowMs: clock.nowMs() });
	if (tokens.length === 0) return null;
	const kept = await readUnticked(c);
	return html`<fieldset class="stack-tight"><legend>API tokens that end</legend>
		<p class="small soft">You have issued them. Calls with those that stay ticked are refused from then on. Keep a token only if a program needs it and nobody else has a copy.</p>
		${tokens.map(({ public_id: id, ...token }) => [
			html`<input type="hidden" name="listed" value="${id}">`,
			ui.checkbox({ name: "end", value: id, isChecked: !kept.includes(id), label: describeToken(token) }),
		])}</fieldset>`;
}

function describeToken(token: Omit<IssuedToken, "public_id">): Html {
	const { name, partnerName, last_used_at_ms: usedAtMs } = token;
	const owner = partnerName === null ? "Of the network" : html`Of <span class="break">${partnerName}</span>`;
	const used = usedAtMs === null ? "never used" : html`last used ${ui.timeTag(usedAtMs)}`;
	return html`<span class="break">${name}</span> <code>${showToken(token)}</code><br><span class="small soft">${owner}, ${used}</span>`;
}
