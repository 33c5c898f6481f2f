// The link of an invitation, shown once to whoever made it, and whether it was mailed.

import { html } from "hono/html";
import type { SentLink } from "../../accounts/invitations.ts";
import { padded, section } from "../components/blocks.ts";
import { copyable } from "../components/text.ts";
import type { Content, Html } from "../html.ts";

export function invitationCard(invited: SentLink): Html {
	return section({
		id: "invitation",
		title: `${invited.isForPassword ? "New password" : "Invitation"} for ${invited.email}`,
		body: padded(html`<div class="stack">${describe(invited)}</div>`),
	});
}

function describe({ link, isMailed, isLinkWithheld, isForPassword, email }: SentLink): Content {
	if (link !== null && isForPassword) return describePasswordLink(link, isMailed, email);
	if (link !== null) return describeLink(link, isMailed);
	if (isMailed) return html`<p class="break">A mail is on its way to ${email}.</p>`;
	if (isLinkWithheld) {
		return html`<p class="break">No mail can be sent from here, and only the network's staff may hand over a link: it makes its holder ${email}. Ask the network's staff for it.</p>`;
	}
	return html`<p class="break">${email} can sign in already and finds the programme there. No mail can be sent from here, so tell them yourself.</p>`;
}

function describeLink(link: string, isMailed: boolean): Content {
	return html`<p>${
		isMailed
			? "It is on its way by mail. You can hand it over yourself, too:"
			: "No mail can be sent from here (SMTP_URL is not set). Hand this link over yourself:"
	}</p>
	<p>${copyable(link, "the invitation link")}</p>
	<p class="small soft">It works once, for seven days, and is not shown again. A new one takes its place.</p>`;
}

function describePasswordLink(link: string, isMailed: boolean, email: string): Content {
	return html`<p class="break">Whoever opens this link becomes ${email}. Make sure that it is them who ask, and hand it over yourself:</p>
	<p>${copyable(link, "the link for a new password")}</p>
	<p class="small soft">It works once, for 24 hours, and is not shown again. They are signed out everywhere when they use it; an authenticator stays on.${
		isMailed ? " A mail tells them that it was made." : ""
	}</p>`;
}
