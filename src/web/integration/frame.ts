// The three pages of the integration share a header, and tabs that lead from one to the other.

import { html } from "hono/html";
import type { Right } from "../../domain/roles.ts";
import type { Programme } from "../../store/programmes.ts";
import { pageHeader, tabs } from "../components/blocks.ts";
import { copyable } from "../components/text.ts";
import type { WebContext } from "../env.ts";
import type { Content, Html } from "../html.ts";
import { answerPage } from "../page.ts";
import { inboundPath, integrationPath, signaturePath } from "../paths.ts";
import { may, programmeOf } from "../viewer.ts";

export type IntegrationTab = "set-up" | "inbound" | "signature";

const TABS: readonly {
	tab: IntegrationTab;
	label: string;
	path(programmeId: string): string;
	/** Nothing to see there without it. */
	needs?: Right;
}[] = [
	{ tab: "set-up", label: "Set-up and postbacks", path: integrationPath },
	{ tab: "inbound", label: "Inbound log", path: inboundPath },
	{ tab: "signature", label: "Check a signature", path: signaturePath, needs: "integrate" },
];

export function answerTab(
	c: WebContext,
	page: { tab: IntegrationTab; title: string; hint: Content; status?: number; body: Content },
): Promise<Response> {
	const programme = programmeOf(c);
	return answerPage(c, {
		title: page.title,
		active: "integration",
		...(page.status === undefined ? {} : { status: page.status }),
		body: html`${pageHeader({ title: page.title, hint: page.hint, actions: programmeId(programme) })}${tabs(
			"Integration",
			TABS.filter(({ needs = "look" }) => may(c, needs)).map(({ tab, label, path }) => ({
				label,
				href: path(programme.public_id),
				isActive: tab === page.tab,
			})),
		)}${page.body}`,
	});
}

function programmeId({ public_id: publicId }: Programme): Html {
	return html`<span class="small soft">Programme id</span> ${copyable(publicId, "the programme id")}`;
}
