// The three pages of the integration share a header, and tabs that lead from one to the other.

import { html } from "hono/html";
import type { Programme } from "../../store/programmes.ts";
import { pageHeader, tabs } from "../components/blocks.ts";
import { copyable } from "../components/text.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import type { Content, Html } from "../html.ts";
import { answerPage } from "../page.ts";
import { frameProgramme } from "../programme-frame.ts";
import { integrationPath } from "./paths.ts";

export type IntegrationTab = "set-up" | "inbound" | "signature";

const TABS: readonly { tab: IntegrationTab; label: string; path: string }[] = [
	{ tab: "set-up", label: "Set-up and postbacks", path: "" },
	{ tab: "inbound", label: "Inbound log", path: "/inbound" },
	{ tab: "signature", label: "Check a signature", path: "/signature" },
];

export async function answerIntegrationPage(
	c: WebContext,
	deps: Pick<WebDeps, "store">,
	programme: Programme,
	page: { tab: IntegrationTab; title: string; hint: Content; status?: number; body: Content },
): Promise<Response> {
	return answerPage(c, {
		title: page.title,
		active: "integration",
		programme: await frameProgramme(deps.store.db, programme),
		...(page.status === undefined ? {} : { status: page.status }),
		body: html`${pageHeader({ title: page.title, hint: page.hint, actions: programmeId(programme) })}${tabs(
			"Integration",
			TABS.map(({ tab, label, path }) => ({
				label,
				href: integrationPath(programme.public_id) + path,
				isActive: tab === page.tab,
			})),
		)}${page.body}`,
	});
}

function programmeId({ public_id: publicId }: Programme): Html {
	return html`<span class="small soft">Programme id</span> ${copyable(publicId, "the programme id")}`;
}
